//! [`Suspects`]: segments whose copies have a right checksum and contradict the other parts of their
//! file. Pure.
//!
//! They may be articles of another file, or the others may be: a copy that agrees with the rest is asked
//! of every server first. One that no server has a better copy of waits until nothing else of its file
//! is open, for what the other parts say may still change, and is then accepted as unverified.

use std::collections::{BTreeMap, BTreeSet};

use bergamot_pool::Tries;
use bergamot_queue::{Conflict, FileKey, SegmentKey};
use bergamot_types::{JobId, ServerId};

use crate::article::{Location, Troubled};
use crate::engine::Engine;
use crate::event::Now;
use crate::order::Ticket;

/// What is known of the copies of one article.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) enum Suspicion {
    #[default]
    None,
    /// Some server has such a copy, under this id of the segment; another server, or another id, may have
    /// one that goes with the rest.
    Suspected { id: u32 },
    /// No server has a better one.
    Accepted,
}

/// Segments that wait to be accepted, by file: a file may have tens of thousands of them.
#[derive(Debug, Default)]
pub(crate) struct Suspects(BTreeMap<FileKey, BTreeSet<u32>>);

impl Suspects {
    fn insert(&mut self, key: SegmentKey) {
        self.0.entry(key.file_key()).or_default().insert(key.segment);
    }

    pub(crate) fn remove(&mut self, key: SegmentKey) {
        let Some(segments) = self.0.get_mut(&key.file_key()) else { return };
        segments.remove(&key.segment);
        if segments.is_empty() {
            self.0.remove(&key.file_key());
        }
    }

    /// All of the file, if there are at least so many.
    fn take_file(&mut self, file: FileKey, at_least: usize) -> Option<BTreeSet<u32>> {
        let is_due = self.0.get(&file).is_some_and(|segments| segments.len() >= at_least);
        if is_due { self.0.remove(&file) } else { None }
    }

    pub(crate) fn forget_file(&mut self, file: FileKey) {
        self.0.remove(&file);
    }

    pub(crate) fn forget_job(&mut self, job: JobId) {
        self.0.retain(|file, _| file.job != job);
    }
}

impl Troubled {
    pub(crate) fn is_accepted(&self) -> bool {
        self.suspicion == Suspicion::Accepted
    }

    /// Some server has a copy that may be accepted.
    pub(crate) fn is_suspected(&self) -> bool {
        matches!(self.suspicion, Suspicion::Suspected { .. })
    }
}

impl Engine {
    /// A sound article that does not go with the other parts of its file.
    pub(crate) fn on_misfit(
        &mut self,
        now: Now,
        ticket: Ticket,
        server: ServerId,
        conflict: &Conflict,
    ) {
        let Some(key) = self.tickets.get(&ticket).map(|article| article.key) else { return };
        self.discard(ticket);
        let id = self.queue.file(key.file_key()).map_or(0, |file| file.chosen_id(key.segment));
        let troubled = self.retries.troubled.entry(key).or_default();
        if conflict.is_suspicion() && troubled.suspicion == Suspicion::None {
            troubled.suspicion = Suspicion::Suspected { id };
        }
        match conflict {
            Conflict::Name | Conflict::Total { .. } => troubled.tries.suspicious(server),
            _ => troubled.tries.damaged(server),
        }
        self.on_bad_copy(now, key, server, &format!("{}: {conflict}", conflict.code()));
    }

    /// Every server has answered for it, and some copy may be right. Whether it waits now.
    pub(crate) fn waits_to_be_accepted(&mut self, key: SegmentKey) -> bool {
        let troubled = self.retries.troubled.entry(key).or_default();
        if !troubled.is_suspected() {
            return false;
        }
        troubled.location = Location::Parked;
        self.retries.parked.push(key);
        self.retries.suspects.insert(key);
        true
    }

    /// Asks for suspicious articles once more, to accept them, if nothing else of the file is open.
    pub(crate) fn accept_suspects(&mut self, now: Now, file: FileKey) {
        let open = self.queue.file(file).map_or(0, |known| known.open_count());
        // They are taken out all together: one that is given up here leads back to this function.
        let Some(waiting) = self.retries.suspects.take_file(file, open as usize) else { return };
        self.retries.parked.retain(|key| key.file_key() != file || !waiting.contains(&key.segment));
        for segment in waiting {
            self.accept_suspect(now, SegmentKey { job: file.job, file: file.file, segment });
        }
    }

    fn accept_suspect(&mut self, now: Now, key: SegmentKey) {
        let Some(troubled) = self.retries.troubled.get_mut(&key) else { return };
        let Suspicion::Suspected { id } = troubled.suspicion else { return };
        troubled.suspicion = Suspicion::Accepted;
        let file = self.queue.file(key.file_key());
        match file.map_or(0, |file| file.chosen_id(key.segment)) == id {
            // Any of them: what a copy says of the file is ignored.
            true => troubled.tries.forgive_copies(),
            // What servers answered for another id says nothing of this one.
            false => troubled.tries = Tries::default(),
        }
        self.queue.choose_id(key, id);
        self.ask_again(now, key);
    }

    /// What was held against the copies of an article does not count any more.
    pub(crate) fn forget_suspicion(&mut self, key: SegmentKey) {
        self.retries.suspects.remove(key);
        if let Some(troubled) = self.retries.troubled.get_mut(&key) {
            troubled.suspicion = Suspicion::None;
        }
    }
}
