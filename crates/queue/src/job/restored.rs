//! [`Restored`]: the parts that an earlier run had written; [`Replay`]: which of them still hold. Pure.

use std::collections::BTreeSet;

use crate::file::part::{Conflict, Part};
use crate::file::placements::Layout;
use crate::file::{FileState, SegmentState};
use crate::job::Job;
use crate::queue::{FileKey, SegmentKey};

/// A good copy that lies in its file.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Restored {
    pub file: u32,
    pub segment: u32,
    pub part: Part,
}

/// What came of all of them.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Replay {
    /// Files that are whole with them.
    pub whole: Vec<(FileKey, Layout)>,
    /// Segments that are wanted again: they do not go with the others.
    pub refused: Vec<SegmentKey>,
}

impl Job {
    /// Plays them through as if they came just now, so that the files are judged as they were. What
    /// the job does not have is ignored: records may be older than they say.
    pub(crate) fn restore(&mut self, written: &[Restored]) -> Replay {
        let (mut touched, mut suspicious) = (BTreeSet::new(), Vec::new());
        for Restored { file, segment, part } in written {
            if self.has_open(*file, *segment) {
                touched.insert((*file, *segment));
                // Segments that do not go with the others are found below, whichever had to give way.
                let restored = self.file_mut(*file).restore(*segment, part);
                if let Err(Conflict::Name | Conflict::Total { .. }) = restored {
                    suspicious.push((*file, *segment, part));
                }
            }
        }
        // The journal has the parts in another order than they came: a name that only one of the first
        // parts has may be that of many.
        for (file, segment, part) in suspicious {
            if self.has_open(file, segment) {
                let _ = self.file_mut(file).restore(segment, part);
            }
        }
        let job = self.id();
        let files: BTreeSet<u32> = touched.iter().map(|(file, _)| *file).collect();
        let layout = |file| Some((FileKey { job, file }, self.file_mut(file).settle_restored()?));
        let whole = files.into_iter().filter_map(layout).collect();
        let is_wanted = |(file, segment): &(u32, u32)| {
            self.files()[*file as usize].segment(*segment) == SegmentState::Wanted
        };
        let refused = touched.into_iter().filter(is_wanted);
        let refused = refused.map(|(file, segment)| SegmentKey { job, file, segment }).collect();
        Replay { whole, refused }
    }

    fn has_open(&self, file: u32, segment: u32) -> bool {
        let file = self.files().get(file as usize);
        let open = |state| matches!(state, FileState::HeldBack | FileState::Wanted);
        file.is_some_and(|file| {
            open(file.state())
                && segment < file.segment_count()
                && file.segment(segment) == SegmentState::Wanted
        })
    }
}
