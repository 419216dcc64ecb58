//! [`Nzb`]: an NZB as read.

use bergamot_types::Secret;

use crate::file::NzbFile;
use crate::warning::Warning;

/// The files of one post and what the indexer says about them.
#[derive(Clone, Debug, Default)]
pub struct Nzb {
    pub meta: Meta,
    pub files: Vec<NzbFile>,
    pub warnings: Vec<Warning>,
}

/// The `<meta>` elements of the head.
#[derive(Clone, Debug, Default)]
pub struct Meta {
    /// In the order given: all are worth trying.
    pub passwords: Vec<Secret>,
    pub category: Option<String>,
    pub title: Option<String>,
    pub name: Option<String>,
    pub tags: Vec<String>,
    /// The rest by type, the type in lower case.
    pub others: Vec<(String, String)>,
}

impl Nzb {
    /// Encoded bytes of all files, as far as the NZB states them.
    pub fn bytes(&self) -> u64 {
        self.files.iter().fold(0, |sum, file| sum.saturating_add(file.bytes()))
    }

    /// Segments of all files, those that cannot be had included.
    pub fn segments(&self) -> usize {
        self.files.iter().map(|file| file.segments.count()).sum()
    }

    /// Feeds the same bytes for the same articles, whatever files, subjects and order they have:
    /// each file's ids by number, the files by their first id. To be hashed for finding copies.
    pub fn fingerprint(&self, mut feed: impl FnMut(&[u8])) {
        let mut order: Vec<&NzbFile> =
            self.files.iter().filter(|file| !file.segments.is_empty()).collect();
        order.sort_by_key(|file| file.segments.iter().next().map(|first| first.id));
        for file in order {
            for segment in file.segments.iter() {
                feed(segment.id.as_bytes());
                feed(b"\n");
            }
        }
    }
}

impl Meta {
    /// Files the value under its type; false if there is no more room.
    pub(crate) fn add(&mut self, kind: &str, value: String) -> bool {
        if self.passwords.len() + self.tags.len() + self.others.len() >= MOST_META {
            return false;
        }
        let slot = match kind {
            "password" => {
                self.passwords.push(Secret::new(value));
                return true;
            }
            "tag" => {
                self.tags.push(value);
                return true;
            }
            "category" => &mut self.category,
            "name" => &mut self.name,
            "title" => &mut self.title,
            _ => {
                self.others.push((kind.to_owned(), value));
                return true;
            }
        };
        match slot {
            None => *slot = Some(value),
            Some(_) => self.others.push((kind.to_owned(), value)),
        }
        true
    }
}

/// Indexers write ten or so.
const MOST_META: usize = 64;
