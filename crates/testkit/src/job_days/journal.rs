//! [`Journal`]: the entries for the files of one job, and which of them survive a crash. Pure.

use std::collections::{BTreeMap, BTreeSet};

use bergamot_engine::Note;
use bergamot_queue::Restored;

use super::timeline::Timeline;

#[derive(Clone, Debug, Default)]
pub(crate) struct Journal {
    entries: Vec<Entry>,
    /// So many are on the disk.
    synced: usize,
}

#[derive(Clone, Debug)]
enum Entry {
    Note(Note),
    Named { file: u32 },
}

/// What the entries come to.
#[derive(Debug, Default)]
pub(crate) struct Told {
    pub(crate) named: BTreeSet<u32>,
    pub(crate) written: BTreeMap<u32, Vec<Restored>>,
}

impl Journal {
    pub(crate) fn push(&mut self, note: Note) {
        // Nothing is written over what no longer holds before that is on the disk.
        let is_retraction = !matches!(note, Note::Written { .. });
        self.entries.push(Entry::Note(note));
        if is_retraction {
            self.sync();
        }
    }

    pub(crate) fn push_named(&mut self, file: u32) {
        self.entries.push(Entry::Named { file });
    }

    pub(crate) fn sync(&mut self) {
        self.synced = self.entries.len();
    }

    /// The process was killed: some of what was not synced is lost. Whether anything is.
    pub(crate) fn tear(&mut self, timeline: &mut Timeline) -> bool {
        let unsynced = self.entries.len() - self.synced;
        let lost = timeline.chance.up_to(unsynced as u64) as usize;
        self.entries.truncate(self.entries.len() - lost);
        self.sync();
        lost > 0
    }

    /// The files that it has entries for, whether they are on the disk or not.
    pub(crate) fn begun_files(&self) -> BTreeSet<u32> {
        let file = |entry: &Entry| match entry {
            Entry::Note(Note::Forgotten { file }) => file.file,
            Entry::Note(Note::Reopened { key } | Note::Written { key, .. }) => key.file,
            Entry::Named { file } => *file,
        };
        self.entries.iter().map(file).collect()
    }

    pub(crate) fn replay(&self) -> Told {
        let mut told = Told::default();
        for entry in &self.entries {
            match entry {
                Entry::Note(Note::Forgotten { file }) => told.forget(file.file),
                Entry::Note(Note::Reopened { key }) => {
                    let parts = told.written.entry(key.file).or_default();
                    parts.retain(|part| part.segment != key.segment);
                }
                Entry::Note(Note::Written { key, part }) => {
                    let restored =
                        Restored { file: key.file, segment: key.segment, part: part.clone() };
                    told.written.entry(key.file).or_default().push(restored);
                }
                Entry::Named { file } => _ = told.named.insert(*file),
            }
        }
        told
    }

    /// What lay in a file is not there any more.
    pub(crate) fn forget_file(&mut self, file: u32) {
        self.entries.retain(|entry| match entry {
            Entry::Note(Note::Forgotten { file: other }) => other.file != file,
            Entry::Note(Note::Reopened { key } | Note::Written { key, .. }) => key.file != file,
            Entry::Named { file: other } => *other != file,
        });
        self.sync();
    }
}

impl Told {
    fn forget(&mut self, file: u32) {
        self.named.remove(&file);
        self.written.remove(&file);
    }
}
