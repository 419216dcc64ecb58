//! [`Recovered`]: what can be resumed of a job, from its journal and the files in its directory. Runs in the record
//! thread.
//!
//! A file with the identity and the size recorded in the journal is trusted. The articles of a missing file are
//! fetched again. Any other file is a [`Suspect`]: it is read and compared with the checksums of its articles, and
//! only what differs is fetched again. Journals of older versions record neither identity nor size; with these a
//! file of the right name and size is trusted.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use bergamot_jobs::FinishedFile;
use bergamot_nzb::{Nzb, better_name};
use bergamot_queue::{Restored, slot_size};
use bergamot_store::{Entry, Finished, Replay};
use bergamot_types::{ByteCount, FileStatus, SafeName};
use bergamot_writer::Sum;

/// The files in the directory of a job.
#[derive(Debug, Default)]
pub(crate) struct Lying {
    /// Unfinished files by their places in the NZB.
    pub(crate) parts: HashMap<u32, FileStatus>,
    /// Those that have their names.
    pub(crate) named: BTreeMap<String, FileStatus>,
}

/// What can be gone on with.
#[derive(Debug, Default, Eq, PartialEq)]
pub(crate) struct Recovered {
    pub(crate) finished: Vec<RecoveredFile>,
    pub(crate) written: Vec<Restored>,
    /// To be read before anything is known of them.
    pub(crate) suspects: Vec<Suspect>,
    /// Entries to be appended to the journal before anything is written again.
    pub(crate) corrections: Vec<Entry>,
    /// There were suspects only because the file system gives files other inode numbers: all of them were
    /// read and held what they should.
    pub(crate) is_proven: bool,
}

/// A finished file in the directory of the job.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct RecoveredFile {
    pub(crate) file: FinishedFile,
    pub(crate) read_back: bool,
    pub(crate) status: FileStatus,
}

/// A file with another identity or size than the journal recorded.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Suspect {
    pub(crate) index: u32,
    /// If it has one.
    pub(crate) name: Option<String>,
    pub(crate) status: FileStatus,
    /// The articles that it should contain.
    pub(crate) written: Vec<Restored>,
    /// All of the file's articles are among that.
    is_complete: bool,
    /// Of the articles that do not say where they belong, if they are not joined.
    slot: Option<u64>,
}

impl Suspect {
    fn unfinished(nzb: &Nzb, index: u32, status: FileStatus, written: Vec<Restored>) -> Self {
        let slot = slot_in(nzb, index, status, &written);
        let is_complete = is_complete(nzb, index, &written);
        Self { index, name: None, status, written, is_complete, slot }
    }

    fn named(
        nzb: &Nzb,
        index: u32,
        (name, status): (String, FileStatus),
        written: Vec<Restored>,
    ) -> Self {
        let is_complete = is_complete(nzb, index, &written);
        Self { index, name: Some(name), status, written, is_complete, slot: None }
    }

    /// None for what cannot be compared.
    pub(crate) fn sums(&self) -> Vec<Option<Sum>> {
        let sum = |it: &Restored| {
            let (from, crc32) = (offset_of(it, self.slot)?, it.part.crc32?);
            Some(Sum { from, length: it.part.length, crc32 })
        };
        self.written.iter().map(sum).collect()
    }
}

impl Recovered {
    /// A suspect was read; `agrees` says for each of its articles whether the file contains it. Returns whether a
    /// file with its final name has to become an unfinished one again.
    pub(crate) fn note_read(&mut self, suspect: Suspect, agrees: &[bool]) -> bool {
        let Suspect { index, name, status, written, is_complete, .. } = suspect;
        let size: u64 = written.iter().map(|it| it.part.length).sum();
        let (kept, lost): (Vec<_>, Vec<_>) =
            written.into_iter().zip(agrees).partition(|(_, agrees)| **agrees);
        let kept: Vec<_> = kept.into_iter().map(|(it, _)| it).collect();
        let is_whole = lost.is_empty() && is_complete && size == status.size.0;
        if let Some(name) = name.clone().filter(|_| is_whole) {
            let verified = kept.iter().all(|it| it.part.verified);
            let (status, read_back) = (Some(status), true);
            let finished = Finished { name: name.clone(), verified, read_back, status };
            self.corrections.push(Entry::Finished { file: index, finished });
            let (file, status) = (FinishedFile { index, name, verified }, suspect.status);
            self.finished.push(RecoveredFile { file, read_back, status });
            return false;
        }
        if kept.is_empty() {
            self.corrections.push(Entry::Forgotten { file: index });
        } else {
            let reopened = lost.iter().map(|(it, _)| it.segment);
            let reopened = reopened.map(|segment| Entry::Reopened { file: index, segment });
            self.corrections.extend(reopened);
            if name.is_some() && lost.is_empty() {
                // It takes more than its articles to be whole: it is not finished after all.
                self.corrections.push(Entry::Forgotten { file: index });
                let again = kept.iter().cloned();
                let again = again.map(|it| Entry::Written {
                    file: index,
                    segment: it.segment,
                    part: it.part,
                });
                self.corrections.extend(again);
            }
            self.corrections.push(Entry::Opened { file: index, identity: status.identity });
        }
        self.written.extend(kept);
        name.is_some()
    }
}

/// `older` are finished files that the record itself lists.
pub(crate) fn recover(
    nzb: &Nzb,
    replay: Replay,
    older: &[FinishedFile],
    lying: &Lying,
) -> Recovered {
    let mut recovered = Recovered::default();
    let Replay { written, finished, inside_finished, identities, .. } = replay;
    let mut inside = by_file(inside_finished);
    let open = by_file(written);
    let mut claimed: BTreeMap<u32, Finished> = older
        .iter()
        .map(|file| {
            let (name, verified) = (file.name.clone(), file.verified);
            (file.index, Finished { name, verified, read_back: false, status: None })
        })
        .collect();
    claimed.extend(finished);
    let known: BTreeSet<_> = claimed.values().map(|file| file.name.clone()).collect();
    for (index, Finished { name, verified, read_back, status: before }) in claimed {
        let written = inside.remove(&index).unwrap_or_default();
        match lying.named.get(&name).copied() {
            Some(status) if before.is_none_or(|before| before == status) => {
                let file = FinishedFile { index, name, verified };
                recovered.finished.push(RecoveredFile { file, read_back, status });
            }
            Some(status) => {
                recovered.suspects.push(Suspect::named(nzb, index, (name, status), written));
            }
            None if lying.parts.contains_key(&index) => {
                let status = lying.parts[&index];
                recovered.suspects.push(Suspect::unfinished(nzb, index, status, written));
            }
            None => recovered.corrections.push(Entry::Forgotten { file: index }),
        }
    }
    let mut nameless: BTreeMap<&String, FileStatus> = lying
        .named
        .iter()
        .filter(|(name, _)| !known.contains(*name))
        .map(|(name, status)| (name, *status))
        .collect();
    for (index, written) in open {
        let identity = identities.get(&index).copied();
        let Some(status) = lying.parts.get(&index).copied() else {
            match adopted(nzb, index, &written, &mut nameless) {
                // Only its size says so; where its articles have sums it is read.
                Some((name, status))
                    if identity.is_none_or(|it| it == status.identity)
                        && written.iter().any(|it| it.part.crc32.is_none()) =>
                {
                    let verified = written.iter().all(|it| it.part.verified);
                    let finished = Finished {
                        name: name.clone(),
                        verified,
                        read_back: false,
                        status: Some(status),
                    };
                    // It was not noted when it got its name: without this it would be known only by its
                    // size again.
                    recovered.corrections.push(Entry::Finished { file: index, finished });
                    let file = FinishedFile { index, name, verified };
                    recovered.finished.push(RecoveredFile { file, read_back: false, status });
                }
                Some(found) => {
                    recovered.suspects.push(Suspect::named(nzb, index, found, written));
                }
                None => recovered.corrections.push(Entry::Forgotten { file: index }),
            }
            continue;
        };
        let slot = slot_in(nzb, index, status, &written);
        // What has no place of its own is there if all of it is, joined.
        let is_there = |it: &Restored| end_of(it, slot).is_none_or(|end| end <= status.size.0);
        let is_same = identity.is_none_or(|identity| identity == status.identity);
        match (is_same, identity.is_some() && !written.iter().all(is_there)) {
            (true, false) => {
                let (there, gone): (Vec<_>, Vec<_>) = written.into_iter().partition(is_there);
                let reopened = gone.iter().map(|it| it.segment);
                let reopened = reopened.map(|segment| Entry::Reopened { file: index, segment });
                recovered.corrections.extend(reopened);
                recovered.written.extend(there);
            }
            _ => {
                recovered.suspects.push(Suspect::unfinished(nzb, index, status, written));
            }
        }
    }
    recovered.finished.sort_by_key(|it| it.file.index);
    recovered
}

fn by_file(written: Vec<Restored>) -> BTreeMap<u32, Vec<Restored>> {
    let mut by_file = BTreeMap::<_, Vec<_>>::new();
    for it in written {
        by_file.entry(it.file).or_default().push(it);
    }
    by_file
}

/// The offset of an article in its file; unknown if it has none of its own and was joined with the others.
fn offset_of(it: &Restored, slot: Option<u64>) -> Option<u64> {
    it.part.begin.or_else(|| u64::from(it.segment).checked_mul(slot?))
}

fn end_of(it: &Restored, slot: Option<u64>) -> Option<u64> {
    Some(offset_of(it, slot)?.saturating_add(it.part.length))
}

/// The distance between articles without an offset in an unfinished file. If the process was killed between joining
/// and renaming the file, it may be joined already: then it is as long as all of them together.
fn slot_in(nzb: &Nzb, index: u32, status: FileStatus, written: &[Restored]) -> Option<u64> {
    let size: u64 = written.iter().map(|it| it.part.length).sum();
    let is_joined = written.len() > 1
        && written.iter().all(|it| it.part.begin.is_none())
        && is_complete(nzb, index, written)
        && status.size.0 == size;
    let segments = &nzb.files.get(index as usize).filter(|_| !is_joined)?.segments;
    Some(slot_size(segments.iter().filter_map(|segment| segment.bytes)))
}

fn is_complete(nzb: &Nzb, index: u32, written: &[Restored]) -> bool {
    let listed = nzb.files.get(index as usize).map_or(0, |file| file.segments.len());
    !written.is_empty() && written.len() == listed
}

/// Finds a file that was renamed to its final name just before a crash, without an entry in the journal: all of its
/// parts are recorded, the unfinished file is gone, and a file of that size, if possible of that name, is there.
fn adopted(
    nzb: &Nzb,
    index: u32,
    written: &[Restored],
    nameless: &mut BTreeMap<&String, FileStatus>,
) -> Option<(String, FileStatus)> {
    let file = nzb.files.get(index as usize).filter(|_| is_complete(nzb, index, written))?;
    let size = ByteCount(written.iter().map(|it| it.part.length).sum());
    let inside = written.iter().find_map(|it| it.part.name.as_deref());
    let expected = better_name(file.name(), inside).map(SafeName::from_raw);
    let expected = expected.as_ref().map_or("", |name| name.as_str());
    let fits = |(_, status): &(&&String, &FileStatus)| status.size == size;
    let mut fitting: Vec<String> =
        nameless.iter().filter(fits).map(|(name, _)| (*name).clone()).collect();
    if fitting.iter().any(|name| name == expected) {
        fitting = vec![expected.to_owned()];
    }
    let [name] = &fitting[..] else { return None };
    let status = nameless.remove(name)?;
    Some((name.clone(), status))
}

#[cfg(test)]
mod tests {
    use bergamot_nzb::Limits;
    use bergamot_queue::Part;
    use bergamot_types::FileIdentity;

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
            crc32: Some(file * 10 + segment),
            ..Part::default()
        };
        Restored { file, segment, part }
    }

    fn identity(inode: u64) -> FileIdentity {
        FileIdentity { device: 1, inode }
    }

    fn status(inode: u64, size: u64) -> FileStatus {
        FileStatus { identity: identity(inode), size: ByteCount(size) }
    }

    fn all() -> Vec<Restored> {
        vec![part(0, 0), part(0, 1), part(1, 0), part(1, 1)]
    }

    /// Unfinished files are those of the inodes 0 and 1; finished ones have the inode 0.
    fn lying(parts: &[(u32, u64)], named: &[(&str, u64)]) -> Lying {
        let parts = parts.iter().map(|(index, size)| (*index, status(u64::from(*index), *size)));
        let named = named.iter().map(|(name, size)| ((*name).to_owned(), status(0, *size)));
        Lying { parts: parts.collect(), named: named.collect() }
    }

    fn finished(index: u32, name: &str) -> FinishedFile {
        FinishedFile { index, name: name.to_owned(), verified: true }
    }

    fn names(found: &Recovered) -> Vec<FinishedFile> {
        found.finished.iter().map(|it| it.file.clone()).collect()
    }

    fn named(name: &str, status: Option<FileStatus>) -> Finished {
        Finished { name: name.to_owned(), verified: true, read_back: false, status }
    }

    fn recovered(replay: Replay, older: &[FinishedFile], lying: &Lying) -> Recovered {
        recover(&nzb(), replay, older, lying)
    }

    #[test]
    fn only_what_lies_there_counts_and_the_journal_is_told_of_the_rest() {
        let replay = Replay { written: all(), ..Replay::default() };
        let found = recovered(replay, &[], &lying(&[(0, 150)], &[]));
        assert_eq!((&found.written[..], found.finished.len()), (&[part(0, 0)][..], 0));
        let taken_back = [Entry::Reopened { file: 0, segment: 1 }, Entry::Forgotten { file: 1 }];
        assert_eq!(found.corrections, taken_back);
    }

    #[test]
    fn finished_files_are_those_with_names_that_are_there() {
        let replay = Replay { finished: [(1, named("b", None))].into(), ..Replay::default() };
        let found =
            recovered(replay.clone(), &[finished(0, "a")], &lying(&[], &[("a", 200), ("b", 200)]));
        assert_eq!(names(&found), [finished(0, "a"), finished(1, "b")]);
        assert_eq!(found.corrections, []);
        let found = recovered(replay, &[finished(0, "a")], &lying(&[], &[]));
        let forgotten = [0, 1].map(|file| Entry::Forgotten { file });
        assert_eq!((found.finished.len(), found.corrections), (0, forgotten.to_vec()));
    }

    #[test]
    fn a_file_named_in_the_last_moment_is_known_by_its_name_or_its_size() {
        let without_sum = |it: Restored| Restored { part: Part { crc32: None, ..it.part }, ..it };
        let written: Vec<_> = all().into_iter().map(without_sum).collect();
        let replay = Replay { written: written.clone(), ..Replay::default() };
        let found = recovered(replay.clone(), &[], &lying(&[], &[("a", 200), ("b", 200)]));
        assert_eq!(names(&found), [finished(0, "a"), finished(1, "b")]);
        let noted = |file, name| Entry::Finished {
            file,
            finished: self::named(name, Some(status(0, 200))),
        };
        assert_eq!(found.written, []);
        assert_eq!(found.corrections, [noted(0, "a"), noted(1, "b")]);
        let found = recovered(replay.clone(), &[], &lying(&[(1, 200)], &[("other", 200)]));
        assert_eq!(names(&found), [finished(0, "other")]);
        assert_eq!(found.written, written[2..]);
        for odd in [&[("x", 200), ("y", 200)][..], &[("a", 199)], &[]] {
            let found = recovered(replay.clone(), &[], &lying(&[], odd));
            assert_eq!((found.finished.len(), found.written.len()), (0, 0), "{odd:?}");
        }
    }

    #[test]
    fn a_file_named_in_the_last_moment_is_read_where_its_articles_have_sums() {
        let replay = Replay { written: all(), ..Replay::default() };
        let mut found = recovered(replay, &[], &lying(&[(1, 200)], &[("a", 200)]));
        assert_eq!((found.finished.len(), found.suspects.len()), (0, 1));
        let suspect = found.suspects.pop().unwrap();
        assert!(!found.note_read(suspect, &[true, true]));
        assert_eq!(names(&found), [finished(0, "a")]);
        assert!(found.finished[0].read_back);
    }

    #[test]
    fn a_file_that_is_another_or_shorter_than_the_journal_says_is_read() {
        let identities = BTreeMap::from([(0, identity(0)), (1, identity(1))]);
        let replay = Replay { written: all(), identities, ..Replay::default() };
        let suspects = |lying: &Lying| -> Vec<u32> {
            recovered(replay.clone(), &[], lying).suspects.iter().map(|it| it.index).collect()
        };
        assert!(suspects(&lying(&[(0, 200), (1, 200)], &[])).is_empty());
        assert_eq!(suspects(&lying(&[(0, 200), (1, 199)], &[])), [1], "it was cut");
        let mut swapped = lying(&[(0, 200), (1, 200)], &[]);
        swapped.parts = [(0, status(1, 200)), (1, status(0, 200))].into();
        assert_eq!(suspects(&swapped), [0, 1]);
    }

    /// UU-encoded articles have no offset: they are written to slots.
    #[test]
    fn articles_without_a_place_are_looked_for_in_their_slots() {
        let silent = |segment| {
            let it = part(0, segment);
            Restored { part: Part { begin: None, ..it.part }, ..it }
        };
        let slot = slot_size([110]);
        let replay = Replay { written: vec![silent(0), silent(1)], ..Replay::default() };
        let found = recovered(replay.clone(), &[], &lying(&[(0, slot + 99)], &[]));
        assert_eq!(found.written, [silent(0)], "the other was cut off");
        assert_eq!(found.corrections, [Entry::Reopened { file: 0, segment: 1 }]);
        let found = recovered(replay.clone(), &[], &lying(&[(0, 200)], &[]));
        assert_eq!(found.written.len(), 2, "they are joined");
        let identities = BTreeMap::from([(0, FileIdentity::NONE)]);
        let replay = Replay { identities, ..replay };
        let found = recovered(replay, &[], &lying(&[(0, slot + 100)], &[]));
        let sums = found.suspects[0].sums().into_iter().map(|sum| sum.unwrap().from);
        assert_eq!(sums.collect::<Vec<_>>(), [0, slot]);
    }

    #[test]
    fn what_agrees_is_kept_and_the_rest_is_fetched_again() {
        let identities = BTreeMap::from([(0, identity(7))]);
        let written = vec![part(0, 0), part(0, 1)];
        let replay = Replay { written, identities, ..Replay::default() };
        let read = |agrees: &[bool]| {
            let mut found = recovered(replay.clone(), &[], &lying(&[(0, 200)], &[]));
            let suspect = found.suspects.pop().unwrap();
            assert_eq!(suspect.sums()[1], Some(Sum { from: 100, length: 100, crc32: 1 }));
            assert!(!found.note_read(suspect, agrees));
            found
        };
        let opened = Entry::Opened { file: 0, identity: identity(0) };
        let found = read(&[true, true]);
        assert_eq!((found.written.len(), found.corrections), (2, vec![opened.clone()]));
        let found = read(&[false, true]);
        let reopened = Entry::Reopened { file: 0, segment: 0 };
        assert_eq!((found.written, found.corrections), (vec![part(0, 1)], vec![reopened, opened]));
        let found = read(&[false, false]);
        assert_eq!(found.corrections, [Entry::Forgotten { file: 0 }]);
    }

    #[test]
    fn a_finished_file_that_has_changed_is_finished_only_if_all_of_it_agrees() {
        let finished_file = named("a", Some(status(5, 200)));
        let replay = Replay {
            finished: [(0, finished_file)].into(),
            inside_finished: vec![part(0, 0), part(0, 1)],
            ..Replay::default()
        };
        let read = |size, agrees: &[bool]| {
            let mut found = recovered(replay.clone(), &[], &lying(&[], &[("a", size)]));
            let suspect = found.suspects.pop().unwrap();
            let is_unfinished = found.note_read(suspect, agrees);
            (is_unfinished, found)
        };
        let (is_unfinished, found) = read(200, &[true, true]);
        assert_eq!((is_unfinished, names(&found)), (false, vec![finished(0, "a")]));
        assert!(found.finished[0].read_back);
        let (is_unfinished, found) = read(150, &[true, false]);
        assert!(is_unfinished && found.finished.is_empty());
        assert_eq!(found.written, [part(0, 0)]);
        let (is_unfinished, found) = read(250, &[true, true]);
        assert!(is_unfinished && found.finished.is_empty());
        assert_eq!(found.written.len(), 2);
        assert_eq!(found.corrections[0], Entry::Forgotten { file: 0 });
        let same = lying(&[], &[("a", 200)]);
        let same = Lying { named: [("a".to_owned(), status(5, 200))].into(), ..same };
        let found = recovered(replay, &[], &same);
        assert_eq!((names(&found), found.suspects), (vec![finished(0, "a")], vec![]));
    }
}
