//! [`Articles`]: the bodies that a server has.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Write};
use std::sync::Arc;

use bergamot_types::MessageId;
use bergamot_yenc::encode::Part;

use crate::posts::nzb::NzbWriter;

/// What a server can be asked for. Ids come without their brackets.
pub trait Articles: fmt::Debug + Send + Sync {
    fn contains(&self, id: &str) -> bool;

    /// Appends the body to `out` as it goes over the wire: lines ended by CR LF, dots stuffed, the
    /// terminator not yet there. Returns whether there is such an article.
    fn append_body(&self, id: &str, out: &mut Vec<u8>) -> bool;

    fn subject(&self, id: &str) -> Option<String>;

    /// The id of some other article, for a server that mixes them up.
    fn another(&self, id: &str) -> Option<String>;
}

/// Several collections behind one server; the first that has an id answers.
impl Articles for Vec<Arc<dyn Articles>> {
    fn contains(&self, id: &str) -> bool {
        self.iter().any(|articles| articles.contains(id))
    }

    fn append_body(&self, id: &str, out: &mut Vec<u8>) -> bool {
        self.iter().any(|articles| articles.append_body(id, out))
    }

    fn subject(&self, id: &str) -> Option<String> {
        self.iter().find_map(|articles| articles.subject(id))
    }

    fn another(&self, id: &str) -> Option<String> {
        self.iter().find_map(|articles| articles.another(id))
    }
}

/// Articles whose bodies are kept in memory.
#[derive(Clone, Debug, Default)]
pub struct Posted {
    articles: BTreeMap<String, Article>,
    files: Vec<PostedFile>,
}

#[derive(Clone, Debug)]
struct Article {
    subject: String,
    body: Vec<u8>, // as it goes over the wire
}

#[derive(Clone, Debug)]
struct PostedFile {
    subject: String,
    segments: Vec<(MessageId, u64)>,
}

impl Posted {
    pub fn new() -> Self {
        Self::default()
    }

    /// Keeps one article. `body` has its lines ended by LF or CR LF and its dots unstuffed.
    pub fn insert(&mut self, id: &MessageId, body: &[u8]) {
        self.insert_wire(id, stuff(body));
    }

    /// Keeps one article whose bytes are sent exactly so before the terminator, however odd.
    pub fn insert_wire(&mut self, id: &MessageId, body: Vec<u8>) {
        let subject = format!("article {id}");
        self.articles.insert(id.as_str().to_owned(), Article { subject, body });
    }

    /// Posts a file in yEnc articles of `article_size` bytes and returns their ids in order.
    pub fn post(&mut self, name: &str, content: &[u8], article_size: usize) -> Vec<MessageId> {
        let total = content.len().div_ceil(article_size).max(1) as u32;
        let subject = format!("\"{name}\" yEnc (1/{total}) {}", content.len());
        let mut segments = Vec::new();
        for number in 1..=total {
            let offset = (number as usize - 1) * article_size;
            let data = &content[offset..content.len().min(offset + article_size)];
            let part = Part {
                name,
                file_size: content.len() as u64,
                number,
                total,
                offset: offset as u64,
                data,
            };
            let mut body = Vec::new();
            part.write_body(&mut body);
            let text = format!("{}.{number}@posted.example", self.files.len() + 1);
            let id = MessageId::parse(&text).expect("made of digits and dots");
            segments.push((id.clone(), body.len() as u64));
            let subject = format!("\"{name}\" yEnc ({number}/{total}) {}", content.len());
            self.articles.insert(text, Article { subject, body });
        }
        let ids = segments.iter().map(|(id, _)| id.clone()).collect();
        self.files.push(PostedFile { subject, segments });
        ids
    }

    /// The NZB of all files posted with [`Posted::post`].
    pub fn nzb(&self) -> String {
        let mut text = Vec::new();
        self.write_nzb(&mut text).expect("memory takes every write");
        String::from_utf8(text).expect("written as UTF-8")
    }

    pub fn write_nzb(&self, out: impl Write) -> io::Result<()> {
        let mut nzb = NzbWriter::begin(out)?;
        for file in &self.files {
            nzb.begin_file(&file.subject)?;
            for (number, (id, bytes)) in (1..).zip(&file.segments) {
                nzb.segment(number, *bytes, id.as_str())?;
            }
            nzb.end_file()?;
        }
        nzb.end()
    }
}

impl Articles for Posted {
    fn contains(&self, id: &str) -> bool {
        self.articles.contains_key(id)
    }

    fn append_body(&self, id: &str, out: &mut Vec<u8>) -> bool {
        let article = self.articles.get(id);
        article.inspect(|article| out.extend_from_slice(&article.body)).is_some()
    }

    fn subject(&self, id: &str) -> Option<String> {
        self.articles.get(id).map(|article| article.subject.clone())
    }

    fn another(&self, id: &str) -> Option<String> {
        let after = self.articles.range(id.to_owned()..).map(|(other, _)| other);
        after.chain(self.articles.keys()).find(|other| *other != id).cloned()
    }
}

/// Ends lines with CR LF and doubles the dots at their starts (RFC 3977, section 3.1.1).
fn stuff(body: &[u8]) -> Vec<u8> {
    let mut wire = Vec::with_capacity(body.len() + body.len() / 64 + 2);
    for line in body.split_inclusive(|&byte| byte == b'\n') {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.starts_with(b".") {
            wire.push(b'.');
        }
        wire.extend_from_slice(line);
        wire.extend_from_slice(b"\r\n");
    }
    wire
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_ended_and_dots_stuffed() {
        assert_eq!(stuff(b".\n..a\r\n\nb."), b"..\r\n...a\r\n\r\nb.\r\n");
    }

    #[test]
    fn another_article_is_found_from_every_id() {
        let mut posted = Posted::new();
        let ids = posted.post("a.bin", &[7; 250], 100);
        assert_eq!(ids.len(), 3);
        for id in &ids {
            let other = posted.another(id.as_str()).unwrap();
            assert!(other != id.as_str() && posted.contains(&other));
        }
        assert_eq!(Posted::new().another("a@x"), None);
    }

    #[test]
    fn a_posted_file_has_its_nzb() {
        let mut posted = Posted::new();
        posted.post("a & b.bin", &[7; 250], 100);
        let nzb = posted.nzb();
        assert!(nzb.contains("subject=\"&quot;a &amp; b.bin&quot; yEnc (1/3) 250\""), "{nzb}");
        assert_eq!(nzb.matches("<segment ").count(), 3);
    }
}
