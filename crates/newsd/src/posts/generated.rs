//! [`Generated`]: a post whose articles are generated on request from a seed.

use std::io::{self, Read, Write};

use bergamot_types::ByteCount;
use bergamot_yenc::encode::Part;

use crate::posts::articles::Articles;
use crate::posts::noise::{Noise, mix};
use crate::posts::nzb::{NzbWriter, wire_size};

/// A post described by its seed, its files and the size of its articles.
///
/// Contents follow from the seed and an id from its place, so a post of any size costs no memory;
/// each article is made and encoded when it is asked for.
#[derive(Clone, Debug)]
pub struct Generated {
    seed: u64,
    article_size: u64,
    files: Vec<File>,
}

#[derive(Clone, Debug)]
struct File {
    name: String,
    size: u64,
}

/// Where an article lies: the index of its file and its part, from 1.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Place {
    file: usize,
    number: u32,
}

impl Generated {
    /// # Panics
    /// If `article_size` is zero.
    pub fn new(seed: u64, article_size: ByteCount) -> Self {
        assert!(article_size.0 > 0, "an article holds at least one byte");
        Self { seed, article_size: article_size.0, files: Vec::new() }
    }

    #[must_use]
    pub fn file(mut self, name: impl Into<String>, size: ByteCount) -> Self {
        self.files.push(File { name: name.into(), size: size.0 });
        self
    }

    pub fn files(&self) -> impl Iterator<Item = (&str, ByteCount)> {
        self.files.iter().map(|file| (file.name.as_str(), ByteCount(file.size)))
    }

    /// How many articles a file has.
    ///
    /// # Panics
    /// When there is no such file, as all functions that take its index.
    pub fn parts(&self, file: usize) -> u32 {
        let parts = self.files[file].size.div_ceil(self.article_size).max(1);
        u32::try_from(parts).expect("posts stay below four billion articles")
    }

    /// The id of a part, counted from 1.
    pub fn id(&self, file: usize, number: u32) -> String {
        format!("{file}.{number}.{:016x}@{HOST}", mix(self.seed))
    }

    /// Fills `out` with the bytes of the file from `offset` on, which must lie within it.
    pub fn read_at(&self, file: usize, offset: u64, out: &mut [u8]) {
        Noise::new(self.seed, file as u64).fill(offset, out);
    }

    /// The whole file as a stream, to hold a download against.
    pub fn open(&self, file: usize) -> impl Read + use<> {
        let content = Content { noise: Noise::new(self.seed, file as u64), offset: 0 };
        content.take(self.files[file].size)
    }

    pub fn crc32(&self, file: usize) -> u32 {
        let mut hasher = crc32fast::Hasher::new();
        let mut buffer = vec![0; PIECE];
        let mut stream = self.open(file);
        while let Ok(length @ 1..) = stream.read(&mut buffer) {
            hasher.update(&buffer[..length]);
        }
        hasher.finalize()
    }

    pub fn nzb(&self) -> String {
        let mut text = Vec::new();
        self.write_nzb(&mut text).expect("memory takes every write");
        String::from_utf8(text).expect("written as UTF-8")
    }

    /// Sizes in it are estimates, as those of real posts are.
    pub fn write_nzb(&self, out: impl Write) -> io::Result<()> {
        let mut nzb = NzbWriter::begin(out)?;
        for file in 0..self.files.len() {
            nzb.begin_file(&self.subject_of(Place { file, number: 1 }))?;
            for number in 1..=self.parts(file) {
                let (_, length) = self.range(Place { file, number });
                nzb.segment(number, wire_size(length), &self.id(file, number))?;
            }
            nzb.end_file()?;
        }
        nzb.end()
    }

    fn place(&self, id: &str) -> Option<Place> {
        let mut words = id.splitn(3, '.');
        let file = words.next()?.parse().ok()?;
        let number = words.next()?.parse().ok()?;
        let known = file < self.files.len() && (1..=self.parts(file)).contains(&number);
        (known && self.id(file, number) == id).then_some(Place { file, number })
    }

    fn range(&self, place: Place) -> (u64, u64) {
        let offset = u64::from(place.number - 1) * self.article_size;
        (offset, self.article_size.min(self.files[place.file].size - offset))
    }

    fn subject_of(&self, place: Place) -> String {
        let File { name, size } = &self.files[place.file];
        let (nth, files) = (place.file + 1, self.files.len());
        let (number, total) = (place.number, self.parts(place.file));
        format!("[{nth}/{files}] - \"{name}\" yEnc ({number}/{total}) {size}")
    }
}

impl Articles for Generated {
    fn contains(&self, id: &str) -> bool {
        self.place(id).is_some()
    }

    fn append_body(&self, id: &str, out: &mut Vec<u8>) -> bool {
        let Some(place) = self.place(id) else { return false };
        let (offset, length) = self.range(place);
        let File { name, size } = &self.files[place.file];
        let mut data = vec![0; length as usize];
        self.read_at(place.file, offset, &mut data);
        let (number, total) = (place.number, self.parts(place.file));
        Part { name, file_size: *size, number, total, offset, data: &data }.write_body(out);
        true
    }

    fn subject(&self, id: &str) -> Option<String> {
        self.place(id).map(|place| self.subject_of(place))
    }

    /// The next part, or the first one of the next file.
    fn another(&self, id: &str) -> Option<String> {
        let Some(Place { file, number }) = self.place(id) else {
            return (!self.files.is_empty()).then(|| self.id(0, 1));
        };
        let next_file = (file + 1) % self.files.len();
        let next = if number < self.parts(file) { (file, number + 1) } else { (next_file, 1) };
        (next != (file, number)).then(|| self.id(next.0, next.1))
    }
}

struct Content {
    noise: Noise,
    offset: u64,
}

impl Read for Content {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.noise.fill(self.offset, buffer);
        self.offset += buffer.len() as u64;
        Ok(buffer.len())
    }
}

const HOST: &str = "generated.example";
const PIECE: usize = 64 << 10;

#[cfg(test)]
mod tests {
    use bergamot_yenc::Decoder;

    use super::*;

    fn post() -> Generated {
        Generated::new(7, ByteCount(1000)).file("a.bin", ByteCount(2500)).file("b", ByteCount(0))
    }

    #[test]
    fn every_id_of_the_post_and_no_other_is_known() {
        let post = post();
        assert_eq!((post.parts(0), post.parts(1)), (3, 1));
        assert!(post.contains(&post.id(0, 3)) && post.contains(&post.id(1, 1)));
        for id in ["", "0.1", "0.1.x@generated.example", &post.id(0, 4), &post.id(1, 0), "9.1.0@x"]
        {
            assert!(!post.contains(id), "{id}");
        }
        assert!(!post.contains(&Generated::new(8, ByteCount(1000)).id(0, 1)));
    }

    #[test]
    fn a_file_read_as_a_stream_is_the_file_read_in_parts() {
        let post = post();
        let mut whole = Vec::new();
        post.open(0).read_to_end(&mut whole).unwrap();
        assert_eq!(whole.len(), 2500);
        let mut part = vec![0; 500];
        post.read_at(0, 2000, &mut part);
        assert_eq!(part, whole[2000..]);
        assert_eq!(post.crc32(0), crc32fast::hash(&whole));
    }

    #[test]
    fn an_article_decodes_to_its_part_of_the_file() {
        let post = post();
        let mut body = Vec::new();
        assert!(post.append_body(&post.id(0, 3), &mut body));
        body.extend_from_slice(b".\r\n");
        let (mut decoder, mut decoded) = (Decoder::new(), vec![0; 1000]);
        let step = decoder.decode(&body, &mut decoded);
        let outcome = decoder.finish();
        assert_eq!((step.consumed, step.ended, outcome.fault), (body.len(), true, None));
        assert_eq!(outcome.part.range, Some(2000..2500));
        let mut expected = vec![0; 500];
        post.read_at(0, 2000, &mut expected);
        assert_eq!(decoded[..step.written], expected);
    }

    #[test]
    fn a_post_of_terabytes_is_only_its_description() {
        let post = Generated::new(1, ByteCount(700_000)).file("big", ByteCount(20 << 40));
        let last = post.parts(0);
        let mut body = Vec::new();
        assert!(post.append_body(&post.id(0, last), &mut body));
        assert!(body.starts_with(b"=ybegin part=31414"));
    }

    #[test]
    fn the_nzb_lists_every_article() {
        let nzb = post().nzb();
        assert!(nzb.contains("[1/2] - &quot;a.bin&quot; yEnc (1/3) 2500"), "{nzb}");
        assert!(nzb.contains(&format!(">{}</segment>", post().id(0, 2))));
        assert_eq!(nzb.matches("<segment ").count(), 4);
    }
}
