//! All that is posted, encoded before the clock starts.

use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use bergamot_yenc::encode::Part;
use crc32fast::Hasher;

use crate::plan::{Article, File, Plan};

/// How much is posted: every file is an NZB of its own.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Shape {
    pub(crate) files: usize,
    pub(crate) file_size: u64,
}

/// Answers to `BODY` as they go over the wire, and the plan of where they belong.
#[derive(Debug)]
pub(crate) struct Payload {
    answers: Vec<Answer>,
    plan: Plan,
}

#[derive(Debug)]
struct Answer {
    bytes: Vec<u8>,
    status_line: usize,
    decoded: Hasher,
    undecoded: Hasher,
}

impl Shape {
    pub(crate) fn bytes(self) -> u64 {
        self.files as u64 * self.file_size
    }

    pub(crate) fn articles(self) -> usize {
        self.files * self.parts()
    }

    fn parts(self) -> usize {
        self.file_size.div_ceil(ARTICLE) as usize
    }
}

impl Payload {
    /// Encodes everything, on all cores.
    pub(crate) fn new(shape: Shape) -> Self {
        let slots: Vec<Mutex<Option<Answer>>> =
            (0..shape.articles()).map(|_| None.into()).collect();
        let next = AtomicUsize::new(0);
        let cores = thread::available_parallelism().map_or(1, usize::from);
        thread::scope(|scope| {
            for _ in 0..cores {
                scope.spawn(|| {
                    loop {
                        let index = next.fetch_add(1, Ordering::Relaxed);
                        let Some(slot) = slots.get(index) else { break };
                        *slot.lock().expect("no thread panics here") = Some(encode(shape, index));
                    }
                });
            }
        });
        let answers: Vec<Answer> = slots
            .into_iter()
            .map(|slot| slot.into_inner().ok().flatten().expect("every slot was filled"))
            .collect();
        let plan = plan(shape, &answers);
        Self { answers, plan }
    }

    pub(crate) fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The whole answer to `BODY`, in one piece, if the article is one of ours.
    pub(crate) fn answer(&self, id: &[u8]) -> Option<&[u8]> {
        self.find(id).map(|answer| answer.bytes.as_slice())
    }

    /// The same without its status line.
    pub(crate) fn body(&self, id: &[u8]) -> Option<&[u8]> {
        self.find(id).map(|answer| &answer.bytes[answer.status_line..])
    }

    /// Writes the NZBs, one for each file, named after its job.
    pub(crate) fn write_nzbs(&self, folder: &Path) -> io::Result<()> {
        for (index, file) in self.plan.files.iter().enumerate() {
            let mut text = Vec::new();
            let articles = self.plan.articles.iter().filter(|article| article.file == index);
            write_nzb(&mut text, file, articles)?;
            fs::write(folder.join(format!("{}.nzb", file.job)), text)?;
        }
        Ok(())
    }

    fn find(&self, id: &[u8]) -> Option<&Answer> {
        let index: usize = std::str::from_utf8(id).ok()?.strip_suffix(HOST)?.parse().ok()?;
        self.answers.get(index)
    }
}

fn encode(shape: Shape, index: usize) -> Answer {
    let (file, part) = (index / shape.parts(), index % shape.parts());
    let offset = part as u64 * ARTICLE;
    let mut data = vec![0; ARTICLE.min(shape.file_size - offset) as usize];
    fill(index as u64, &mut data);
    let mut bytes = format!("222 0 <{index}{HOST}>\r\n").into_bytes();
    let status_line = bytes.len();
    let part = Part {
        name: &file_name(file),
        number: part as u32 + 1,
        total: shape.parts() as u32,
        file_size: shape.file_size,
        offset,
        data: &data,
    };
    part.write_wire(&mut bytes);
    bytes.shrink_to_fit();
    let (mut decoded, mut undecoded) = (Hasher::new(), Hasher::new());
    decoded.update(&data);
    undecoded.update(&bytes);
    Answer { bytes, status_line, decoded, undecoded }
}

/// `SplitMix64` on a counter: bytes that no compression and no chance can mistake for others.
fn fill(seed: u64, out: &mut [u8]) {
    let mut state = seed.wrapping_mul(0xd134_2543_de82_ef95).wrapping_add(1);
    for chunk in out.chunks_mut(8) {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        chunk.copy_from_slice(&(z ^ (z >> 31)).to_le_bytes()[..chunk.len()]);
    }
}

fn plan(shape: Shape, answers: &[Answer]) -> Plan {
    let mut plan = Plan::default();
    for (file, group) in answers.chunks(shape.parts()).enumerate() {
        let (mut decoded, mut undecoded, mut offset) = (Hasher::new(), Hasher::new(), 0);
        for answer in group {
            let (id, length) = (format!("{}{HOST}", plan.articles.len()), answer.bytes.len());
            plan.articles.push(Article { id, file, offset, length });
            decoded.combine(&answer.decoded);
            undecoded.combine(&answer.undecoded);
            offset += length as u64;
        }
        plan.files.push(File {
            job: format!("job{file:03}"),
            name: file_name(file),
            size: shape.file_size,
            crc: decoded.finalize(),
            wire_size: offset,
            wire_crc: undecoded.finalize(),
        });
    }
    plan
}

fn write_nzb<'a>(
    out: &mut impl Write,
    file: &File,
    articles: impl Iterator<Item = &'a Article>,
) -> io::Result<()> {
    let File { job, name, wire_size, .. } = file;
    let total = file.size.div_ceil(ARTICLE);
    writeln!(
        out,
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <nzb xmlns=\"http://www.newzbin.com/DTD/2003/nzb\">\n\
         <file poster=\"bench\" date=\"{DATE}\" \
         subject=\"{job} &quot;{name}&quot; yEnc (1/{total}) {wire_size}\">\n\
         <groups><group>alt.binaries.test</group></groups>\n<segments>"
    )?;
    for (part, Article { id, length, .. }) in articles.enumerate() {
        writeln!(out, "<segment bytes=\"{length}\" number=\"{}\">{id}</segment>", part + 1)?;
    }
    writeln!(out, "</segments>\n</file>\n</nzb>")
}

fn file_name(file: usize) -> String {
    format!("sample{file:03}.bin")
}

/// What most posters use.
const ARTICLE: u64 = 700 << 10;
const HOST: &str = "@arena.example";
/// The first of July 2026.
const DATE: u64 = 1_782_864_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plan_fits_the_answers() {
        let payload = Payload::new(Shape { files: 2, file_size: ARTICLE + 1000 });
        let plan = payload.plan();
        assert_eq!(plan.articles.len(), 4);
        for file in 0..2 {
            let mut wire = Vec::new();
            for article in plan.articles.iter().filter(|article| article.file == file) {
                let whole = payload.answer(article.id.as_bytes()).unwrap();
                assert_eq!((article.offset, article.length), (wire.len() as u64, whole.len()));
                wire.extend_from_slice(whole);
            }
            assert_eq!(plan.files[file].wire_crc, crc32fast::hash(&wire));
        }
    }
}
