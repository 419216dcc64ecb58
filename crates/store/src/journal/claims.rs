//! [`Claims`]: what a journal states after all its entries were replayed. Pure.

use std::collections::BTreeMap;

use bergamot_queue::Restored;
use bergamot_types::FileIdentity;

use crate::journal::entries::Decoder;
use crate::journal::frame::{Frame, Kind, Owner, frames};
use crate::journal::{Entry, Finished, Replay};

/// The state after all entries were replayed.
#[derive(Debug, Default)]
pub(super) struct Claims {
    written: BTreeMap<(u32, u32), usize>, // places in `parts`
    parts: Vec<Option<Claim<Restored>>>, // in their order; of a large job this is nearly all there is
    finished: BTreeMap<u32, Claim<Finished>>,
    opened: BTreeMap<u32, Claim<FileIdentity>>,
    pub(super) last: u64,
    pub(super) damaged: usize,
    pub(super) outdated: bool, // there are claims that do not count any more
}

#[derive(Debug)]
pub(super) struct Claim<T> {
    at: (u64, usize), // sequence of the frame, and place in it
    vouched: bool,
    what: T,
}

impl Claims {
    /// None if there is something, and nothing of it is the owner's.
    pub(super) fn read(owner: Owner, bytes: &[u8]) -> Option<Self> {
        let mut claims = Self::default();
        let found = frames(bytes, owner);
        if found.ours.is_empty() && found.foreign > 0 {
            return None;
        }
        claims.damaged = found.damaged + found.foreign;
        let vouched = found.ours.iter().filter_map(Frame::vouched).max().unwrap_or(0);
        for frame in found.ours {
            // A block that a file system wrote twice.
            if frame.sequence <= claims.last {
                continue;
            }
            claims.last = frame.sequence;
            if frame.kind == Kind::Entries {
                let is_vouched = frame.sequence <= vouched;
                let counts = is_vouched || frame.owner.same_boot(owner);
                claims.play(&frame, is_vouched, counts);
            }
        }
        Some(claims)
    }

    fn play(&mut self, frame: &Frame<'_>, vouched: bool, counts: bool) {
        for (place, entry) in Decoder::new(frame.payload).enumerate() {
            let Some(entry) = entry else {
                self.damaged += 1;
                return;
            };
            if !counts && !entry.takes_back() {
                self.outdated = true;
                continue;
            }
            self.note(entry, (frame.sequence, place), vouched);
        }
    }

    fn note(&mut self, entry: Entry, at: (u64, usize), vouched: bool) {
        match entry {
            Entry::Written { file, segment, part } => {
                self.drop_part((file, segment));
                self.written.insert((file, segment), self.parts.len());
                let what = Restored { file, segment, part };
                self.parts.push(Some(Claim { at, vouched, what }));
            }
            Entry::Reopened { file, segment } => {
                self.drop_part((file, segment));
                self.finished.remove(&file);
            }
            Entry::Forgotten { file } => {
                self.forget_written(file);
                self.finished.remove(&file);
                self.opened.remove(&file);
            }
            Entry::Opened { file, identity } => {
                self.opened.insert(file, Claim { at, vouched, what: identity });
            }
            // What was written of it is kept: a file that has changed is compared with that.
            Entry::Finished { file, finished } => {
                self.finished.insert(file, Claim { at, vouched, what: finished });
            }
        }
    }

    fn forget_written(&mut self, file: u32) {
        let keys: Vec<_> =
            self.written.range((file, 0)..=(file, u32::MAX)).map(|(k, _)| *k).collect();
        keys.into_iter().for_each(|key| self.drop_part(key));
    }

    fn drop_part(&mut self, key: (u32, u32)) {
        if let Some(place) = self.written.remove(&key) {
            self.parts[place] = None;
        }
    }

    pub(super) fn into_replay(self) -> Replay {
        let Self { written: places, parts, finished, opened, damaged, .. } = self;
        let is_inside = |(file, _): &&(u32, u32)| finished.contains_key(file);
        let inside = places.keys().filter(is_inside).count();
        let mut written = Vec::with_capacity(places.len() - inside);
        let mut inside_finished = Vec::with_capacity(inside);
        drop(places);
        for restored in parts.into_iter().flatten().map(|claim| claim.what) {
            match finished.contains_key(&restored.file) {
                true => inside_finished.push(restored),
                false => written.push(restored),
            }
        }
        Replay {
            written,
            finished: finished.into_iter().map(|(file, claim)| (file, claim.what)).collect(),
            inside_finished,
            identities: opened.into_iter().map(|(file, claim)| (file, claim.what)).collect(),
            damaged,
            ..Replay::default()
        }
    }

    /// The entries that state the same again, in order: those before the last mark, or those after it.
    pub(super) fn places(&self, vouched: bool) -> Vec<((u64, usize), ClaimKey)> {
        let written = (0..).zip(&self.parts).filter_map(|(place, part)| {
            let claim = part.as_ref().filter(|claim| claim.vouched == vouched)?;
            Some((claim.at, ClaimKey::Written(place)))
        });
        let finished = self.finished.iter().filter(|(_, claim)| claim.vouched == vouched);
        let finished = finished.map(|(file, claim)| (claim.at, ClaimKey::Finished(*file)));
        let opened = self.opened.iter().filter(|(_, claim)| claim.vouched == vouched);
        let opened = opened.map(|(file, claim)| (claim.at, ClaimKey::Opened(*file)));
        let mut places: Vec<_> = written.chain(finished).chain(opened).collect();
        places.sort_by_key(|(at, _)| *at);
        places
    }

    pub(super) fn entry(&self, key: ClaimKey) -> Option<Entry> {
        Some(match key {
            ClaimKey::Written(place) => {
                let Restored { file, segment, part } = self.parts[place].as_ref()?.what.clone();
                Entry::Written { file, segment, part }
            }
            ClaimKey::Finished(file) => {
                Entry::Finished { file, finished: self.finished.get(&file)?.what.clone() }
            }
            ClaimKey::Opened(file) => {
                Entry::Opened { file, identity: self.opened.get(&file)?.what }
            }
        })
    }
}

/// Which of the claims it is.
#[derive(Clone, Copy, Debug)]
pub(super) enum ClaimKey {
    Written(usize),
    Finished(u32),
    Opened(u32),
}
