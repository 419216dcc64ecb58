//! A disk whose power can be cut at every step.
//!
//! What was not synced may be lost, kept or torn in sectors when that happens, and so may each change
//! of a name, whatever came before or after it.

#![allow(dead_code, reason = "each test uses a part of it")]
#![allow(clippy::unwrap_used)] // the exemption for tests does not reach their helpers

use std::collections::BTreeMap;
use std::io::{self, Cursor, Read};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};

use bergamot_store::Directory;
use bergamot_types::SplitMix;

#[derive(Debug, Default)]
pub(crate) struct SimulatedDisk(Mutex<State>);

#[derive(Clone, Debug, Default)]
struct State {
    files: Vec<Content>,
    names: BTreeMap<String, usize>,
    synced_names: BTreeMap<String, usize>,
    changes: Vec<Change>, // of names, since they were synced
    steps: usize,
    cut_at: Option<usize>,
    is_full: bool,
    has_reserve: bool,
}

#[derive(Clone, Debug, Default)]
struct Content {
    now: Vec<u8>,
    synced: Vec<u8>,
}

#[derive(Clone, Debug)]
enum Change {
    Named(String, usize),
    Renamed(String, String, usize),
    Removed(String),
}

impl SimulatedDisk {
    pub(crate) fn new() -> Arc<Self> {
        Arc::default()
    }

    pub(crate) fn with(files: &[(String, Vec<u8>)]) -> Arc<Self> {
        let disk = Self::new();
        for (name, bytes) in files {
            disk.write(name, &mut &bytes[..]).unwrap();
            disk.sync(name).unwrap();
        }
        disk.sync_names().unwrap();
        disk
    }

    /// After this many more steps nothing works any more.
    pub(crate) fn cut_after(&self, steps: usize) {
        let mut state = self.state();
        state.cut_at = Some(state.steps + steps);
    }

    /// Nothing more can be written, but for what is set aside.
    pub(crate) fn fill(&self) {
        self.state().is_full = true;
    }

    pub(crate) fn has_reserve(&self) -> bool {
        self.state().has_reserve
    }

    pub(crate) fn steps(&self) -> usize {
        self.state().steps
    }

    /// What is there now.
    pub(crate) fn files(&self) -> Vec<(String, Vec<u8>)> {
        let state = self.state();
        let content = |file: &usize| state.files[*file].now.clone();
        state.names.iter().map(|(name, file)| (name.clone(), content(file))).collect()
    }

    /// What is left when the power comes back: one of the many possibilities.
    pub(crate) fn after_power_cut(&self, chance: &mut SplitMix) -> Arc<Self> {
        let state = self.state();
        let mood = chance.up_to(3);
        let keeps = |chance: &mut SplitMix| match mood {
            0 => false,
            1 => true,
            _ => chance.up_to(1) == 0,
        };
        let mut names = state.synced_names.clone();
        for change in &state.changes {
            if keeps(chance) {
                change.apply(&mut names);
            }
        }
        let files = state.files.iter();
        let files = files.map(|file| match (mood, keeps(chance)) {
            (0, _) => file.synced.clone(),
            (1, _) => file.now.clone(),
            (2, kept) => {
                if kept {
                    file.now.clone()
                } else {
                    file.synced.clone()
                }
            }
            _ => file.torn(chance),
        });
        let files: Vec<_> =
            files.map(|bytes| Content { now: bytes.clone(), synced: bytes }).collect();
        let synced_names = names.clone();
        Arc::new(Self(Mutex::new(State { files, names, synced_names, ..State::default() })))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    /// For what changes something.
    fn growth(&self) -> io::Result<MutexGuard<'_, State>> {
        let state = self.step()?;
        if state.is_full { Err(io::ErrorKind::StorageFull.into()) } else { Ok(state) }
    }

    /// The same for what takes no room.
    fn step(&self) -> io::Result<MutexGuard<'_, State>> {
        let mut state = self.state();
        if state.cut_at.is_some_and(|cut_at| state.steps >= cut_at) {
            return Err(io::Error::other("the power is cut"));
        }
        state.steps += 1;
        Ok(state)
    }
}

impl State {
    fn file(&self, name: &str) -> io::Result<usize> {
        self.names.get(name).copied().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn file_or_new(&mut self, name: &str) -> usize {
        if let Some(file) = self.names.get(name) {
            return *file;
        }
        self.files.push(Content::default());
        self.change(Change::Named(name.to_owned(), self.files.len() - 1));
        self.files.len() - 1
    }

    fn change(&mut self, change: Change) {
        change.apply(&mut self.names);
        self.changes.push(change);
    }
}

impl Change {
    fn apply(&self, names: &mut BTreeMap<String, usize>) {
        match self {
            Self::Named(name, file) => drop(names.insert(name.clone(), *file)),
            Self::Renamed(from, to, file) => {
                if names.get(from) == Some(file) {
                    names.remove(from);
                }
                names.insert(to.clone(), *file);
            }
            Self::Removed(name) => drop(names.remove(name)),
        }
    }
}

impl Content {
    /// Each sector as it was or as it should be, and any length that the file had on its way.
    fn torn(&self, chance: &mut SplitMix) -> Vec<u8> {
        let (shorter, longer) =
            (self.now.len().min(self.synced.len()), self.now.len().max(self.synced.len()));
        let length = shorter + chance.up_to((longer - shorter) as u64) as usize;
        let mut torn = vec![0; length];
        for (at, sector) in torn.chunks_mut(SECTOR).enumerate() {
            let source = if chance.up_to(1) == 0 { &self.now } else { &self.synced };
            let there = source.get(at * SECTOR..).unwrap_or_default();
            let there = &there[..there.len().min(sector.len())];
            sector[..there.len()].copy_from_slice(there);
        }
        torn
    }
}

impl Directory for SimulatedDisk {
    fn path(&self) -> &Path {
        Path::new("simulated")
    }

    fn names(&self, each: &mut dyn FnMut(&str)) -> io::Result<()> {
        let names: Vec<_> = self.state().names.keys().cloned().collect();
        names.iter().for_each(|name| each(name));
        Ok(())
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn Read + Send>> {
        let state = self.state();
        let file = state.file(name)?;
        Ok(Box::new(Cursor::new(state.files[file].now.clone())))
    }

    /// Emptying, and half of the content, are steps of their own.
    fn write(&self, name: &str, content: &mut dyn Read) -> io::Result<()> {
        let mut bytes = Vec::new();
        content.read_to_end(&mut bytes)?;
        let file = self.step()?.file_or_new(name);
        self.step()?.files[file].now.clear();
        for half in bytes.chunks(bytes.len().div_ceil(2).max(1)) {
            self.growth()?.files[file].now.extend(half);
        }
        Ok(())
    }

    fn append(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let file = self.step()?.file_or_new(name);
        for half in bytes.chunks(bytes.len().div_ceil(2).max(1)) {
            self.growth()?.files[file].now.extend(half);
        }
        Ok(())
    }

    fn sync(&self, name: &str) -> io::Result<()> {
        let mut state = self.step()?;
        let file = state.file(name)?;
        state.files[file].synced = state.files[file].now.clone();
        Ok(())
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut state = self.step()?;
        let file = state.file(from)?;
        state.change(Change::Renamed(from.to_owned(), to.to_owned(), file));
        Ok(())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let mut state = self.step()?;
        state.file(name)?;
        state.change(Change::Removed(name.to_owned()));
        Ok(())
    }

    fn sync_names(&self) -> io::Result<()> {
        let mut state = self.step()?;
        state.synced_names = state.names.clone();
        state.changes.clear();
        Ok(())
    }

    fn keep_reserve(&self) -> bool {
        let mut state = self.state();
        state.has_reserve |= !state.is_full;
        state.has_reserve
    }

    /// From then on there is room for all that a test writes.
    fn make_way(&self) -> bool {
        let mut state = self.state();
        let had_reserve = std::mem::take(&mut state.has_reserve);
        state.is_full &= !had_reserve;
        had_reserve
    }
}

const SECTOR: usize = 512;
