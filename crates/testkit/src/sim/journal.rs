//! [`Journal`]: what survives a restart: notes of what was written, and which files have their names. Pure.

use std::collections::{BTreeMap, BTreeSet};

use bergamot_engine::{DiskTrouble, Event, Note};
use bergamot_queue::{FileKey, NewJob, Restored, SegmentKey};

use crate::sim::day::Day;
use crate::sim::day::user_action::UserAction;

#[derive(Debug)]
pub(crate) struct Journal {
    is_kept: bool,
    notes: Vec<Note>,
    finished: BTreeSet<FileKey>,
    lost: BTreeSet<FileKey>, // by the disk, and the engine had not heard of it
}

impl Journal {
    /// A day without a restart needs none.
    pub(crate) fn new(day: &Day) -> Self {
        let is_restart =
            |(_, user_action): &(_, UserAction)| matches!(user_action, UserAction::Restart { .. });
        let is_kept = day.user_actions.iter().any(is_restart);
        Self { is_kept, notes: Vec::new(), finished: BTreeSet::new(), lost: BTreeSet::new() }
    }

    pub(crate) fn on_note(&mut self, note: &Note) {
        if self.is_kept {
            self.notes.push(note.clone());
        }
    }

    pub(crate) fn on_event(&mut self, event: &Event) {
        if let Event::FileFinished { file, result: Ok(()) } = event {
            self.finished.insert(*file);
        }
    }

    /// The end of the notes had not reached the disk; but what says that something no longer holds
    /// had, for nothing is written over it before. What was to be heard and was not is forgotten.
    pub(crate) fn tear(&mut self, torn: usize, unheard: &[Event]) {
        self.lost.clear();
        for _ in 0..torn {
            self.notes.pop_if(|note| matches!(note, Note::Written { .. }));
        }
        for event in unheard {
            if let Event::FileFinished { file, result: Err(DiskTrouble::Unsynced) } = event {
                self.notes.push(Note::Forgotten { file: *file });
                self.lost.insert(*file);
            }
        }
    }

    /// The segments that need not be fetched, of files without a name.
    pub(crate) fn written(&self) -> BTreeSet<SegmentKey> {
        let all = self.restored().into_iter();
        all.flat_map(|(file, parts)| {
            let key = move |part: &Restored| SegmentKey {
                job: file.job,
                file: file.file,
                segment: part.segment,
            };
            parts.iter().map(key).collect::<Vec<_>>()
        })
        .collect()
    }

    pub(crate) fn is_lost(&self, file: FileKey) -> bool {
        self.lost.contains(&file)
    }

    pub(crate) fn is_finished(&self, file: FileKey) -> bool {
        self.finished.contains(&file)
    }

    /// Lets the job go on where it was.
    pub(crate) fn amend(&self, new: &mut NewJob) {
        let of_job = |file: &&FileKey| file.job == new.id;
        new.finished = self.finished.iter().filter(of_job).map(|file| (file.file, true)).collect();
        let restored = self.restored().into_iter().filter(|(file, _)| file.job == new.id);
        new.written = restored.flat_map(|(_, parts)| parts).collect();
    }

    fn restored(&self) -> BTreeMap<FileKey, Vec<Restored>> {
        let mut files: BTreeMap<FileKey, Vec<Restored>> = BTreeMap::new();
        for note in &self.notes {
            match note {
                Note::Forgotten { file } => _ = files.remove(file),
                Note::Reopened { key } => {
                    let parts = files.entry(key.file_key()).or_default();
                    parts.retain(|part| part.segment != key.segment);
                }
                Note::Written { key, part } => {
                    let SegmentKey { file, segment, .. } = *key;
                    let restored = Restored { file, segment, part: part.clone() };
                    files.entry(key.file_key()).or_default().push(restored);
                }
            }
        }
        files.retain(|file, _| !self.is_finished(*file));
        files
    }
}
