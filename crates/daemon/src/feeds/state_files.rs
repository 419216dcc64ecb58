//! [`FeedFiles`]: the state of the feeds on disk, a file for each and one for what they share. Owned by the state
//! thread.
//!
//! A feed may have seen twenty thousand items, so only what has changed is written. Each file is whole
//! by itself, and nothing in one depends on what is in another.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use bergamot_feed::{FeedMemory, Memory};
use bergamot_store::{Kept, StateFile, StoreError};
use bergamot_types::fnv64;
use serde::{Deserialize, Serialize};

#[derive(Debug)]
pub(crate) struct FeedFiles {
    directory: PathBuf,
    feeds: HashMap<Box<str>, FeedFile>,
    common: StateFile<Common>,
    kept: Option<Memory>, // in the common one
}

#[derive(Debug)]
struct FeedFile {
    file: StateFile<OneFeed>,
    revision: Option<u64>, // that is in it
}

/// Without feeds; in here are those of older versions, until they are written for the first time, and
/// those whose own file cannot be written.
#[derive(Debug, Default)]
struct Common(Memory);

#[derive(Debug, Default, Deserialize, Serialize)]
struct OneFeed {
    key: Box<str>,
    memory: FeedMemory,
}

impl FeedFiles {
    /// With what they hold, and what could not be read.
    pub(crate) fn open(state: &Path) -> (Self, Memory, Option<String>) {
        let (common, Common(mut memory), told) = StateFile::open(state);
        let mut told: Vec<_> = told.into_iter().collect();
        let directory = state.to_owned();
        let mut feeds = HashMap::new();
        for name in names_in(&directory) {
            let (file, OneFeed { key, memory: feed }, why) = StateFile::open_as(&directory, &name);
            told.extend(why);
            if !key.is_empty() {
                feeds.insert(key.clone(), FeedFile { file, revision: None });
                memory.feeds.insert(key, feed);
            }
        }
        let told = (!told.is_empty()).then(|| told.join("; "));
        (Self { directory, feeds, common, kept: None }, memory, told)
    }

    /// When this returns, it outlives the process and the power. A file that cannot be written keeps
    /// no other from it.
    pub(crate) fn write(&mut self, mut memory: Memory) -> Result<(), StoreError> {
        let feeds = std::mem::take(&mut memory.feeds);
        let gone = self.feeds.keys().filter(|key| !feeds.contains_key(*key));
        let gone: Vec<_> = gone.cloned().collect();
        let mut results = Vec::new();
        for (key, feed) in feeds {
            if let Err(unwritten) = self.write_feed(key, feed) {
                let (OneFeed { key, memory: feed }, error) = *unwritten;
                memory.feeds.insert(key, feed);
                results.push(Err(error));
            }
        }
        if self.kept.as_ref() != Some(&memory) {
            let written = self.common.write(&Common(memory.clone()));
            self.kept = written.is_ok().then_some(memory);
            results.push(written);
        }
        for key in gone {
            if let Some(FeedFile { file, .. }) = self.feeds.remove(&key) {
                results.push(file.remove());
            }
        }
        results.into_iter().collect()
    }

    /// What was not written is given back.
    fn write_feed(
        &mut self,
        key: Box<str>,
        memory: FeedMemory,
    ) -> Result<(), Box<(OneFeed, StoreError)>> {
        let directory = &self.directory;
        let known = self.feeds.entry(key.clone()).or_insert_with(|| {
            let (file, ..) = StateFile::open_as(directory, &name_of(&key));
            FeedFile { file, revision: None }
        });
        let revision = Some(memory.revision);
        if known.revision != revision {
            let feed = OneFeed { key, memory };
            if let Err(error) = known.file.write(&feed) {
                return Err(Box::new((feed, error)));
            }
            known.revision = revision;
        }
        Ok(())
    }
}

impl Kept for Common {
    const NAME: &'static str = "feeds";
    const WORD: &'static str = "bergamot-feeds";

    fn to_text(&self) -> String {
        serde_json::to_string(&self.0).expect("it has only what JSON can hold")
    }

    fn from_text(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok().map(Self)
    }
}

impl Kept for OneFeed {
    const NAME: &'static str = "feed";
    const WORD: &'static str = "bergamot-feed";

    fn to_text(&self) -> String {
        serde_json::to_string(self).expect("it has only what JSON can hold")
    }

    fn from_text(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }
}

/// Names of feeds may have anything in them.
fn name_of(key: &str) -> String {
    format!("{PREFIX}{:016x}", fnv64(key.bytes()))
}

/// Those that we could have written.
fn names_in(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let is_ours = |name: &String| {
        let print = name.strip_prefix(PREFIX).filter(|print| print.len() == 16);
        print.is_some_and(|print| u64::from_str_radix(print, 16).is_ok())
    };
    names.filter(is_ours).collect()
}

const PREFIX: &str = "feed-";

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn memory(feeds: &[(&str, u64)]) -> Memory {
        let mut memory = Memory::default();
        for (key, revision) in feeds {
            let mut feed = FeedMemory::default();
            (feed.title, feed.revision) = (format!("{key} {revision}").into(), *revision);
            memory.feeds.insert((*key).into(), feed);
        }
        memory
    }

    fn titles(memory: &Memory) -> Vec<&str> {
        memory.feeds.values().map(|feed| &*feed.title).collect()
    }

    #[test]
    fn only_what_changed_is_written_and_what_is_gone_is_removed() {
        let home = tempfile::tempdir().unwrap();
        let inodes = || -> BTreeMap<_, _> {
            let names = names_in(home.path()).into_iter();
            let inode = |name: &String| {
                let path = home.path().join(name);
                std::os::unix::fs::MetadataExt::ino(&std::fs::metadata(path).unwrap())
            };
            names.map(|name| (name.clone(), inode(&name))).collect()
        };
        let (mut files, found, told) = FeedFiles::open(home.path());
        assert!(found.feeds.is_empty() && told.is_none());
        files.write(memory(&[("a", 1), ("b", 2)])).unwrap();
        let before = inodes();
        files.write(memory(&[("a", 1), ("b", 3)])).unwrap();
        let after = inodes();
        let same = before.iter().filter(|(name, inode)| after.get(*name) == Some(inode)).count();
        assert_eq!((before.len(), after.len(), same), (2, 2, 1));
        let (mut files, found, _) = FeedFiles::open(home.path());
        assert_eq!(titles(&found), ["a 1", "b 3"]);
        files.write(memory(&[("b", 0)])).unwrap();
        assert_eq!(titles(&FeedFiles::open(home.path()).1), ["b 0"]);
    }

    #[test]
    fn what_older_versions_wrote_in_one_file_is_taken_over() {
        let home = tempfile::tempdir().unwrap();
        let (all, ..) = StateFile::<Common>::open(home.path());
        all.write(&Common(memory(&[("a", 1), ("b", 1)]))).unwrap();
        let (mut files, found, _) = FeedFiles::open(home.path());
        assert_eq!(titles(&found), ["a 1", "b 1"]);
        files.write(found).unwrap();
        assert!(StateFile::<Common>::open(home.path()).1.0.feeds.is_empty());
        assert_eq!(titles(&FeedFiles::open(home.path()).1), ["a 1", "b 1"]);
    }

    #[test]
    fn a_file_that_cannot_be_written_keeps_no_other_from_it() {
        let home = tempfile::tempdir().unwrap();
        let (mut files, ..) = FeedFiles::open(home.path());
        files.write(memory(&[("a", 1), ("b", 1)])).unwrap();
        let obstructed = home.path().join(name_of("a"));
        std::fs::remove_file(&obstructed).unwrap();
        std::fs::create_dir_all(obstructed.join("of somebody else")).unwrap();
        let newer = || memory(&[("a", 2), ("b", 3)]);
        assert!(files.write(newer()).is_err());
        std::fs::remove_dir_all(&obstructed).unwrap();
        assert_eq!(titles(&FeedFiles::open(home.path()).1), ["a 2", "b 3"]);
        files.write(newer()).unwrap();
        assert!(StateFile::<Common>::open(home.path()).1.0.feeds.is_empty());
        assert_eq!(titles(&FeedFiles::open(home.path()).1), ["a 2", "b 3"]);
    }

    #[test]
    fn a_file_that_is_damaged_costs_its_own_feed() {
        let home = tempfile::tempdir().unwrap();
        let (mut files, ..) = FeedFiles::open(home.path());
        files.write(memory(&[("a", 1), ("b", 2)])).unwrap();
        std::fs::write(home.path().join(name_of("a")), "nonsense").unwrap();
        let (mut files, found, told) = FeedFiles::open(home.path());
        assert_eq!(titles(&found), ["b 2"]);
        assert!(told.unwrap().contains("damaged is set aside"));
        files.write(memory(&[("a", 1), ("b", 2)])).unwrap();
        assert_eq!(titles(&FeedFiles::open(home.path()).1), ["a 1", "b 2"]);
    }
}
