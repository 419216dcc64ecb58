//! The directory of jobs.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use bergamot_types::JobId;
use rustix::fs::{FlockOperation, flock};

use crate::durable::{DRAFT, at, prepare, publish, sync_directory};
use crate::error::StoreError;
use crate::record::{JobState, Record};
use crate::sealed::{seal, unseal};

/// The spool of one daemon. Its methods block on the disk.
#[derive(Debug)]
pub struct Spool {
    directory: PathBuf,
    index: Mutex<Index>,
    _lock: File,
}

#[derive(Debug, Default)]
struct Index {
    last_id: u32,
    fingerprints: HashMap<String, Known>,
}

#[derive(Clone, Debug)]
struct Known {
    id: JobId,
    source: String,
}

/// What lay in the spool at the start.
#[derive(Debug, Default)]
pub struct Found {
    /// All whole records, by id.
    pub records: Vec<Record>,
    /// What was set aside, and why.
    pub set_aside: Vec<(PathBuf, String)>,
}

impl Spool {
    /// Opens the spool, creating it if need be, and locks it for this process.
    pub fn open(directory: &Path) -> Result<(Self, Found), StoreError> {
        fs::create_dir_all(directory).map_err(at(directory))?;
        let lock = lock(directory)?;
        let mut found = Found::default();
        let mut index = Index::default();
        for path in listing(directory)? {
            index.last_id = index.last_id.max(id_of(&path).unwrap_or(0));
            visit(&path, &mut found)?;
        }
        found.records.sort_by_key(|record| record.id);
        found.records.iter().for_each(|record| index.learn(record));
        let spool = Self { directory: directory.to_owned(), index: Mutex::new(index), _lock: lock };
        Ok((spool, found))
    }

    /// The number of the next job; none is ever given twice.
    pub fn next_id(&self) -> JobId {
        let mut index = self.index();
        index.last_id += 1;
        JobId(index.last_id)
    }

    /// The job with the same articles that is queued or completed, and where it came from.
    pub fn same_articles(&self, fingerprint: &str) -> Option<(JobId, String)> {
        let index = self.index();
        index.fingerprints.get(fingerprint).map(|known| (known.id, known.source.clone()))
    }

    /// Accepts a job: when this returns, it outlives the process and the power.
    pub fn add(&self, record: &Record, nzb: &mut dyn Read) -> Result<(), StoreError> {
        let (nzb_path, record_path) = (self.path(record.id, NZB), self.path(record.id, RECORD));
        prepare(&nzb_path, nzb)?;
        prepare(&record_path, &mut seal(WORD, record).as_bytes())?;
        publish(&nzb_path)?;
        publish(&record_path)?;
        sync_directory(&self.directory)?;
        self.index().learn(record);
        Ok(())
    }

    /// Replaces the record of a job.
    pub fn update(&self, record: &Record) -> Result<(), StoreError> {
        let path = self.path(record.id, RECORD);
        prepare(&path, &mut seal(WORD, record).as_bytes())?;
        publish(&path)?;
        sync_directory(&self.directory)?;
        self.index().learn(record);
        Ok(())
    }

    /// The NZB as it came.
    pub fn nzb(&self, job: JobId) -> Result<File, StoreError> {
        let path = self.path(job, NZB);
        File::open(&path).map_err(at(&path))
    }

    /// A completed job needs its NZB no more.
    pub fn drop_nzb(&self, job: JobId) -> Result<(), StoreError> {
        let path = self.path(job, NZB);
        fs::remove_file(&path).map_err(at(&path))
    }

    fn path(&self, job: JobId, extension: &str) -> PathBuf {
        self.directory.join(format!("{:08}.{extension}", job.0))
    }

    fn index(&self) -> MutexGuard<'_, Index> {
        self.index.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Index {
    /// A failed job does not stand in the way of another try.
    fn learn(&mut self, record: &Record) {
        if record.state == JobState::Failed {
            self.fingerprints.retain(|_, known| known.id != record.id);
        } else {
            let known = Known { id: record.id, source: record.source.clone() };
            self.fingerprints.insert(record.fingerprint.clone(), known);
        }
    }
}

fn lock(directory: &Path) -> Result<File, StoreError> {
    let path = directory.join("lock");
    let mut options = File::options();
    let file = options.read(true).write(true).create(true).truncate(false).open(&path);
    let file = file.map_err(at(&path))?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {
            sign(&file).map_err(at(&path))?;
            Ok(file)
        }
        Err(rustix::io::Errno::WOULDBLOCK) => {
            let mut holder = String::new();
            // Only for people; the lock is held whatever stands in the file.
            let _ = (&file).take(LONGEST_SIGNATURE).read_to_string(&mut holder);
            let by = holder.lines().next().map_or(String::new(), |holder| format!(" ({holder})"));
            Err(StoreError::Locked { path: directory.to_owned(), by })
        }
        Err(error) => Err(StoreError::Io { path, error: error.into() }),
    }
}

/// Says who holds the lock. Over a share a process number alone would mislead.
fn sign(mut file: &File) -> std::io::Result<()> {
    let host = rustix::system::uname();
    file.set_len(0)?;
    writeln!(file, "process {} on {}", std::process::id(), host.nodename().to_string_lossy())
}

fn listing(directory: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let entries = fs::read_dir(directory).map_err(at(directory))?;
    let mut paths = Vec::new();
    for entry in entries {
        paths.push(entry.map_err(at(directory))?.path());
    }
    paths.sort();
    Ok(paths)
}

fn visit(path: &Path, found: &mut Found) -> Result<(), StoreError> {
    match path.extension().and_then(OsStr::to_str) {
        // Never published, so never promised to anybody.
        Some(DRAFT) => fs::remove_file(path).map_err(at(path)),
        Some(NZB) if !path.with_extension(RECORD).exists() => {
            set_aside(path, "orphan", "there is no record for this NZB".to_owned(), found)
        }
        Some(RECORD) => {
            let bytes = fs::read(path).map_err(at(path))?;
            match unseal::<Record>(WORD, &bytes) {
                Ok(record) if Some(record.id.0) == id_of(path) => found.records.push(record),
                Ok(record) => {
                    let why = format!("it is the record of job {}", record.id);
                    return set_aside(path, "damaged", why, found);
                }
                Err(error) => return set_aside(path, "damaged", error.to_string(), found),
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

/// What cannot be read is kept for a person to look at; it must not keep the rest from starting.
fn set_aside(path: &Path, mark: &str, why: String, found: &mut Found) -> Result<(), StoreError> {
    let aside = path.with_added_extension(mark);
    fs::rename(path, &aside).map_err(at(path))?;
    found.set_aside.push((aside, why));
    Ok(())
}

fn id_of(path: &Path) -> Option<u32> {
    path.file_name()?.to_str()?.split('.').next()?.parse().ok()
}

const LONGEST_SIGNATURE: u64 = 256;
const NZB: &str = "nzb";
const RECORD: &str = "job";
/// What its records begin with.
const WORD: &str = "bergamot-job";

#[cfg(test)]
mod tests {
    use bergamot_types::UnixTime;

    use super::*;

    fn record(id: JobId) -> Record {
        Record {
            id,
            name: format!("job {id}"),
            category: None,
            priority: 0,
            added: UnixTime(0),
            source: format!("{id}.nzb"),
            fingerprint: format!("{id:0>8}"),
            password: None,
            directory: None,
            state: JobState::Queued,
            reason: None,
            destination: None,
            missing: Vec::new(),
            finished: Vec::new(),
        }
    }

    fn add(spool: &Spool) -> Record {
        let record = record(spool.next_id());
        spool.add(&record, &mut &b"<nzb/>"[..]).unwrap();
        record
    }

    #[test]
    fn jobs_come_back_in_order_with_their_nzbs() {
        let home = tempfile::tempdir().unwrap();
        let (spool, found) = Spool::open(home.path()).unwrap();
        assert!(found.records.is_empty());
        let added = [add(&spool), add(&spool)];
        drop(spool);
        let (spool, found) = Spool::open(home.path()).unwrap();
        assert_eq!(found.records, added);
        let mut nzb = String::new();
        spool.nzb(JobId(2)).unwrap().read_to_string(&mut nzb).unwrap();
        assert_eq!((nzb.as_str(), spool.next_id()), ("<nzb/>", JobId(3)));
    }

    #[test]
    fn two_daemons_cannot_share_a_spool() {
        let home = tempfile::tempdir().unwrap();
        let _first = Spool::open(home.path()).unwrap();
        let error = Spool::open(home.path()).unwrap_err();
        assert_eq!(error.code(), "state.locked");
        let holder = format!("(process {} on ", std::process::id());
        assert!(error.to_string().contains(&holder), "{error}");
    }

    #[test]
    fn a_damaged_record_costs_itself_and_is_kept_for_people() {
        let home = tempfile::tempdir().unwrap();
        let (spool, _) = Spool::open(home.path()).unwrap();
        let (first, second) = (add(&spool), add(&spool));
        drop(spool);
        fs::write(home.path().join("00000001.job"), b"bergamot-job 1 0000").unwrap();
        fs::write(home.path().join("00000009.job.draft"), b"half").unwrap();
        let (spool, found) = Spool::open(home.path()).unwrap();
        assert_eq!(found.records, [second]);
        assert_eq!(found.set_aside[0].0, home.path().join("00000001.job.damaged"));
        assert!(!home.path().join("00000009.job.draft").exists());
        assert!(spool.next_id() > first.id, "its number is not given again");
    }

    #[test]
    fn the_same_articles_are_known_unless_they_failed() {
        let home = tempfile::tempdir().unwrap();
        let (spool, _) = Spool::open(home.path()).unwrap();
        let mut record = add(&spool);
        let known = spool.same_articles(&record.fingerprint).unwrap();
        assert_eq!(known, (record.id, "1.nzb".to_owned()));
        record.state = JobState::Failed;
        spool.update(&record).unwrap();
        assert_eq!(spool.same_articles(&record.fingerprint), None);
    }
}
