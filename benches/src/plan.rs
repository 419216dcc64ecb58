//! What a contestant is to bring, as a text that the server writes and all others read.

use std::fmt::Write;
use std::path::Path;
use std::str::FromStr;
use std::{fs, io};

/// All files of a scenario and the articles they are made of.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct Plan {
    pub(crate) files: Vec<File>,
    pub(crate) articles: Vec<Article>,
}

/// Floors decode nothing: they write the answers themselves, which have a size and a CRC too.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct File {
    pub(crate) job: String,
    pub(crate) name: String,
    pub(crate) size: u64,
    pub(crate) crc: u32,
    pub(crate) wire_size: u64,
    pub(crate) wire_crc: u32,
}

/// An answer: where it lies among those of its file, and how long it is with its status line.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Article {
    pub(crate) id: String,
    pub(crate) file: usize,
    pub(crate) offset: u64,
    pub(crate) length: usize,
}

impl Plan {
    pub(crate) fn write(&self, path: &Path) -> io::Result<()> {
        let mut text = String::new();
        for File { job, name, size, crc, wire_size, wire_crc } in &self.files {
            let _ = writeln!(text, "file {job} {name} {size} {crc} {wire_size} {wire_crc}");
        }
        for Article { id, file, offset, length } in &self.articles {
            let _ = writeln!(text, "article {id} {file} {offset} {length}");
        }
        fs::write(path, text)
    }

    pub(crate) fn read(path: &Path) -> io::Result<Self> {
        let mut plan = Self::default();
        for line in fs::read_to_string(path)?.lines() {
            plan.take(line).ok_or_else(|| io::Error::other(format!("not a plan: {line}")))?;
        }
        Ok(plan)
    }

    fn take(&mut self, line: &str) -> Option<()> {
        let mut words = line.split(' ');
        match words.next()? {
            "file" => self.files.push(File {
                job: next(&mut words)?,
                name: next(&mut words)?,
                size: next(&mut words)?,
                crc: next(&mut words)?,
                wire_size: next(&mut words)?,
                wire_crc: next(&mut words)?,
            }),
            "article" => self.articles.push(Article {
                id: next(&mut words)?,
                file: next(&mut words)?,
                offset: next(&mut words)?,
                length: next(&mut words)?,
            }),
            _ => return None,
        }
        Some(())
    }
}

fn next<'a, T: FromStr>(words: &mut impl Iterator<Item = &'a str>) -> Option<T> {
    words.next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_is_read_as_it_was_written() {
        let mut plan = Plan::default();
        plan.take("file job000 a.bin 10 7 20 8").unwrap();
        plan.take("article 0@x 0 0 20").unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("plan");
        plan.write(&path).unwrap();
        assert_eq!(Plan::read(&path).unwrap(), plan);
        assert_eq!(plan.take("article 0@x 0 x 20"), None);
    }
}
