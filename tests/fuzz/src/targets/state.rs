//! What lies in the spool, after whatever happened to the disk.

use std::collections::BTreeMap;
use std::io::{self, Cursor, Read};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bergamot_jobs::Record;
use bergamot_store::{BootId, Directory, Spool};
use bergamot_types::{JobId, UnixTime};

/// The first byte says what the others are: a record, its body, or a journal.
pub(super) fn store(bytes: &[u8]) {
    let Some((kind, content)) = bytes.split_first() else { return };
    let record = Record::new(JobId(1), "a", UnixTime(0), "a.nzb", Default::default());
    let memory = Arc::new(Memory::default());
    match kind % 3 {
        0 => memory.put("00000001.job", content),
        1 => {
            let Ok(record) = serde_json::from_slice::<Record>(content) else { return };
            memory.put("00000001.job", bergamot_store::encode_record(&record).as_bytes());
        }
        _ => {
            memory.put("00000001.job", bergamot_store::encode_record(&record).as_bytes());
            memory.put("00000001.journal", content);
        }
    }
    memory.put("00000001.nzb", b"<nzb/>");
    let Ok((spool, found)) = Spool::open_in(memory) else { return };
    for record in found.records {
        let _ = spool.journal(&record, BootId::of(b"boot"));
        let _ = spool.update(&record);
    }
}

/// Files in memory.
#[derive(Debug, Default)]
struct Memory(Mutex<BTreeMap<String, Vec<u8>>>);

impl Memory {
    fn put(&self, name: &str, content: &[u8]) {
        self.files().insert(name.to_owned(), content.to_vec());
    }

    fn files(&self) -> MutexGuard<'_, BTreeMap<String, Vec<u8>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Directory for Memory {
    fn path(&self) -> &Path {
        Path::new("/memory")
    }

    fn names(&self, each: &mut dyn FnMut(&str)) -> io::Result<()> {
        let names: Vec<_> = self.files().keys().cloned().collect();
        names.iter().for_each(|name| each(name));
        Ok(())
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn Read + Send>> {
        let content = self.files().get(name).cloned().ok_or(io::ErrorKind::NotFound)?;
        Ok(Box::new(Cursor::new(content)))
    }

    fn write(&self, name: &str, content: &mut dyn Read) -> io::Result<()> {
        let mut bytes = Vec::new();
        content.read_to_end(&mut bytes)?;
        self.put(name, &bytes);
        Ok(())
    }

    fn append(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        self.files().entry(name.to_owned()).or_default().extend_from_slice(bytes);
        Ok(())
    }

    fn sync(&self, _: &str) -> io::Result<()> {
        Ok(())
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let content = self.files().remove(from).ok_or(io::ErrorKind::NotFound)?;
        self.put(to, &content);
        Ok(())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.files().remove(name).map(drop).ok_or(io::ErrorKind::NotFound.into())
    }

    fn sync_names(&self) -> io::Result<()> {
        Ok(())
    }
}

/// Configurations of other programs, and NZBGet's queue.
pub(super) fn import(bytes: &[u8]) {
    let place = bergamot_import::Place::default();
    let _ = (bergamot_import::Kind::of(bytes), bergamot_import::queued_nzbs(bytes));
    let _ = bergamot_import::nzbget(bytes, &place).map(|imported| imported.config());
    let _ = bergamot_import::sabnzbd(bytes, &place).map(|imported| imported.config());
}
