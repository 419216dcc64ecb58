//! What is left of a job after a sudden end: what its journal says, held against what lies there.

use std::collections::{BTreeMap, HashMap};

use bergamot_nzb::{Nzb, better_name};
use bergamot_queue::Restored;
use bergamot_store::{FinishedFile, Replay};
use bergamot_types::SafeName;

/// What lies in the directory of a job.
#[derive(Debug, Default)]
pub(super) struct Lying {
    /// Unfinished files by their places in the NZB, with their sizes.
    pub(super) parts: HashMap<u32, u64>,
    /// Those that have their names, with their sizes.
    pub(super) named: BTreeMap<String, u64>,
}

/// What can be gone on with.
#[derive(Debug, Default, Eq, PartialEq)]
pub(super) struct Recovered {
    pub(super) finished: Vec<FinishedFile>,
    pub(super) written: Vec<Restored>,
}

/// `older` are finished files that the record itself tells of.
pub(super) fn recover(
    nzb: &Nzb,
    replay: Replay,
    older: &[FinishedFile],
    lying: &Lying,
) -> Recovered {
    let mut finished: BTreeMap<u32, FinishedFile> =
        older.iter().map(|file| (file.index, file.clone())).collect();
    for (index, file) in replay.finished {
        finished.insert(index, FinishedFile { index, name: file.name, verified: file.verified });
    }
    finished.retain(|_, file| lying.named.contains_key(&file.name));
    let written: Vec<_> =
        replay.written.into_iter().filter(|it| !finished.contains_key(&it.file)).collect();
    for file in adopted(nzb, &written, &finished, lying) {
        finished.insert(file.index, file);
    }
    let is_there = |it: &Restored| {
        let end = it.part.begin.map_or(0, |begin| begin.saturating_add(it.part.length));
        lying.parts.get(&it.file).is_some_and(|size| end <= *size)
    };
    let written = written.into_iter().filter(|it| !finished.contains_key(&it.file) && is_there(it));
    Recovered { written: written.collect(), finished: finished.into_values().collect() }
}

/// Files that got their names in the last moment, which nobody took note of: all of their parts are
/// on record, the unfinished file is gone, and one of that size, if possible of that name, is there.
fn adopted(
    nzb: &Nzb,
    written: &[Restored],
    finished: &BTreeMap<u32, FinishedFile>,
    lying: &Lying,
) -> Vec<FinishedFile> {
    let is_known = |name: &String| finished.values().any(|file| file.name == *name);
    let mut nameless: BTreeMap<&String, u64> = lying
        .named
        .iter()
        .filter(|(name, _)| !is_known(name))
        .map(|(name, size)| (name, *size))
        .collect();
    let mut adopted = Vec::new();
    for (index, file) in (0..).zip(&nzb.files) {
        let parts: Vec<_> = written.iter().filter(|it| it.file == index).collect();
        let is_whole = !parts.is_empty() && parts.len() == file.segments.len();
        if nameless.is_empty() || !is_whole || lying.parts.contains_key(&index) {
            continue;
        }
        let size: u64 = parts.iter().map(|it| it.part.length).sum();
        let inside = parts.iter().find_map(|it| it.part.name.as_deref());
        let expected = better_name(file.name(), inside).map(SafeName::from_raw);
        let expected = expected.as_ref().map_or("", |name| name.as_str());
        let mut fitting: Vec<_> = nameless
            .iter()
            .filter(|(_, it)| **it == size)
            .map(|(name, _)| (*name).clone())
            .collect();
        if fitting.iter().any(|name| name == expected) {
            fitting = vec![expected.to_owned()];
        }
        if let [name] = &fitting[..] {
            nameless.remove(name);
            let verified = parts.iter().all(|it| it.part.verified);
            adopted.push(FinishedFile { index, name: name.clone(), verified });
        }
    }
    adopted
}

#[cfg(test)]
mod tests {
    use bergamot_nzb::Limits;
    use bergamot_queue::Part;
    use bergamot_store::Finished;

    use super::*;

    /// Files `a` and `b` of two articles each.
    fn nzb() -> Nzb {
        let segments = |name: &str| {
            let one = |n| format!("<segment bytes='110' number='{n}'>{name}{n}@x</segment>");
            format!(
                "<file subject='\"{name}\" (1/2)'><groups><group>a.b</group></groups>\
                 <segments>{}{}</segments></file>",
                one(1),
                one(2)
            )
        };
        let text = format!("<nzb>{}{}</nzb>", segments("a"), segments("b"));
        bergamot_nzb::read(text.as_bytes(), &Limits::default()).unwrap()
    }

    fn part(file: u32, segment: u32) -> Restored {
        let part = Part {
            begin: Some(u64::from(segment) * 100),
            length: 100,
            file_size: Some(200),
            verified: true,
            ..Part::default()
        };
        Restored { file, segment, part }
    }

    fn all() -> Vec<Restored> {
        vec![part(0, 0), part(0, 1), part(1, 0), part(1, 1)]
    }

    fn lying(parts: &[(u32, u64)], named: &[(&str, u64)]) -> Lying {
        let named = named.iter().map(|(name, size)| ((*name).to_owned(), *size)).collect();
        Lying { parts: parts.iter().copied().collect(), named }
    }

    fn finished(index: u32, name: &str) -> FinishedFile {
        FinishedFile { index, name: name.to_owned(), verified: true }
    }

    fn recovered(replay: Replay, older: &[FinishedFile], lying: &Lying) -> Recovered {
        recover(&nzb(), replay, older, lying)
    }

    #[test]
    fn only_what_lies_there_counts() {
        let replay = Replay { written: all(), ..Replay::default() };
        let found = recovered(replay, &[], &lying(&[(0, 150)], &[]));
        assert_eq!(found, Recovered { finished: vec![], written: vec![part(0, 0)] });
    }

    #[test]
    fn finished_files_are_those_with_names_that_are_there() {
        let named = Finished { name: "b".to_owned(), verified: true };
        let replay = Replay { finished: [(1, named)].into(), ..Replay::default() };
        let found =
            recovered(replay.clone(), &[finished(0, "a")], &lying(&[], &[("a", 200), ("b", 200)]));
        assert_eq!(found.finished, [finished(0, "a"), finished(1, "b")]);
        assert_eq!(recovered(replay, &[finished(0, "a")], &lying(&[], &[])), Recovered::default());
    }

    #[test]
    fn a_file_named_in_the_last_moment_is_known_by_its_name_or_its_size() {
        let replay = Replay { written: all(), ..Replay::default() };
        let both = [finished(0, "a"), finished(1, "b")];
        let found = recovered(replay.clone(), &[], &lying(&[], &[("a", 200), ("b", 200)]));
        assert_eq!(found, Recovered { finished: both.to_vec(), written: vec![] });
        let found = recovered(replay.clone(), &[], &lying(&[(1, 200)], &[("other", 200)]));
        assert_eq!(found.finished, [finished(0, "other")]);
        assert_eq!(found.written, [part(1, 0), part(1, 1)]);
        for odd in [&[("x", 200), ("y", 200)][..], &[("a", 199)], &[]] {
            let found = recovered(replay.clone(), &[], &lying(&[], odd));
            assert_eq!(found, Recovered::default(), "{odd:?}");
        }
    }
}
