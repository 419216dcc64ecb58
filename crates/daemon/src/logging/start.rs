//! Starts the log: which lines go to the terminal, to the file and into memory. Once, at the start of the process.

use std::fs::{self, File};
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Context;
use tracing_subscriber::fmt::{self, MakeWriter};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer};

use crate::logging::recent::LogBook;
use bergamot_config::Log;

/// From here on events are written, and kept in `book`. Lines that cannot be written are dropped: a
/// full log disk must not stop a download.
pub fn start(settings: &Log, book: LogBook) -> anyhow::Result<()> {
    let filter = std::env::var("RUST_LOG").unwrap_or_else(|_| settings.level.clone());
    let filter =
        EnvFilter::try_new(&filter).with_context(|| format!("no log filter: {filter:?}"))?;
    let lines = fmt::layer().with_target(false).log_internal_errors(false);
    let lines = match &settings.file {
        None => {
            let live = io::stderr().is_terminal();
            lines.with_ansi(live).with_writer(Terminal { live }).boxed()
        }
        Some(path) => {
            let log = LogFile::open(path, settings.rotate_at.0, settings.keep)
                .with_context(|| format!("cannot open the log file {}", path.display()))?;
            lines.with_ansi(false).with_writer(Shared(Arc::new(Mutex::new(log)))).boxed()
        }
    };
    tracing_subscriber::registry().with(filter).with(lines).with(book).init();
    Ok(())
}

/// Standard error. A live line of progress is taken off before each event.
struct Terminal {
    live: bool,
}

impl<'a> MakeWriter<'a> for Terminal {
    type Writer = TerminalLine;

    fn make_writer(&'a self) -> TerminalLine {
        TerminalLine { live: self.live }
    }
}

struct TerminalLine {
    live: bool,
}

impl Write for TerminalLine {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut stderr = io::stderr().lock();
        if std::mem::take(&mut self.live) {
            stderr.write_all(b"\r\x1b[K")?;
        }
        stderr.write_all(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

struct Shared(Arc<Mutex<LogFile>>);

impl<'a> MakeWriter<'a> for Shared {
    type Writer = SharedWriter;

    fn make_writer(&'a self) -> SharedWriter {
        SharedWriter(self.0.clone())
    }
}

struct SharedWriter(Arc<Mutex<LogFile>>);

impl Write for SharedWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A file that is put aside as `name.1`, `name.2` … when it has grown.
struct LogFile {
    path: PathBuf,
    file: File,
    size: u64,
    rotate_at: u64,
    keep: u32,
}

impl LogFile {
    fn open(path: &Path, rotate_at: u64, keep: u32) -> io::Result<Self> {
        let file = append_to(path)?;
        let size = file.metadata()?.len();
        Ok(Self { path: path.to_owned(), file, size, rotate_at, keep })
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.size > 0 && self.size + bytes.len() as u64 > self.rotate_at {
            self.rotate()?;
        }
        self.file.write_all(bytes)?;
        self.size += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn rotate(&mut self) -> io::Result<()> {
        for number in (1..self.keep).rev() {
            // The first few times there is nothing to move.
            let _ = fs::rename(self.aside(number), self.aside(number + 1));
        }
        if self.keep > 0 {
            fs::rename(&self.path, self.aside(1))?;
        } else {
            fs::remove_file(&self.path)?;
        }
        self.file = append_to(&self.path)?;
        self.size = 0;
        Ok(())
    }

    fn aside(&self, number: u32) -> PathBuf {
        self.path.with_added_extension(number.to_string())
    }
}

fn append_to(path: &Path) -> io::Result<File> {
    File::options().create(true).append(true).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_that_has_grown_is_put_aside_and_only_some_are_kept() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("b.log");
        let mut log = LogFile::open(&path, 10, 2).unwrap();
        for line in ["one\n", "two\n", "three\n", "four..\n", "five\n"] {
            log.write(line.as_bytes()).unwrap();
        }
        let read = |name: &str| fs::read_to_string(home.path().join(name)).ok();
        assert_eq!(read("b.log").as_deref(), Some("five\n"));
        assert_eq!(read("b.log.1").as_deref(), Some("four..\n"));
        assert_eq!(read("b.log.2").as_deref(), Some("three\n"));
        assert_eq!(read("b.log.3"), None);
    }
}
