//! [`Posts`]: what was posted on a simulated day, and which server has which article since when. Pure.

use std::fmt::Write;
use std::time::Duration;

use bergamot_jobs::Fingerprint;
use bergamot_nzb::{Limits, Nzb};
use bergamot_types::{SplitMix, UnixTime, fnv32, fnv64};

/// Every post of a day; its articles are named by their places.
#[derive(Clone, Debug)]
pub(crate) struct Posts(Vec<Post>);

#[derive(Clone, Debug)]
struct Post {
    date: UnixTime,
    files: Vec<PostedFile>,
}

#[derive(Clone, Debug)]
struct PostedFile {
    is_volume: bool,
    articles: Vec<Article>,
}

#[derive(Clone, Copy, Debug)]
struct Article {
    /// A bit for each server that does not have it.
    missing: u8,
    /// No server has it before.
    appears: Duration,
}

/// The place of an article.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) struct Place {
    pub(crate) post: usize,
    pub(crate) file: usize,
    pub(crate) segment: u32,
}

impl Place {
    /// Of an id that [`Posts::nzb`] has written.
    pub(crate) fn of(id: &str) -> Option<Self> {
        let (numbers, _) = id.split_once('@')?;
        let mut numbers = numbers.split('.').map(str::parse::<u32>);
        let mut next = || numbers.next()?.ok();
        let (post, file, segment) = (next()?, next()?, next()?);
        Some(Self { post: post as usize, file: file as usize, segment })
    }
}

impl Posts {
    pub(crate) fn draw(chance: &mut SplitMix, today: UnixTime, servers: usize) -> Self {
        let count = 1 + chance.up_to(7);
        Self((0..count).map(|_| Post::draw(chance, today, servers)).collect())
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn nzb(&self, post: usize) -> Nzb {
        let mut text = String::from("<nzb>");
        let known = &self.0[post];
        for (index, file) in known.files.iter().enumerate() {
            let count = file.articles.len();
            let name = match file.is_volume {
                true => format!("p{post}.vol{index}+1.par2"),
                false => format!("p{post}.f{index}.bin"),
            };
            let date = known.date.0;
            let _ = write!(
                text,
                "<file poster=\"p\" date=\"{date}\" subject='\"{name}\" yEnc (1/{count})'><segments>"
            );
            for segment in 0..count {
                let number = segment + 1;
                let _ = write!(
                    text,
                    "<segment bytes=\"{ARTICLE}\" number=\"{number}\">{post}.{index}.{segment}@x</segment>"
                );
            }
            text.push_str("</segments></file>");
        }
        text.push_str("</nzb>");
        bergamot_nzb::read(text.as_bytes(), &Limits::default()).expect("a good NZB")
    }

    pub(crate) fn file_size(&self, place: Place) -> u64 {
        self.0[place.post].files[place.file].articles.len() as u64 * ARTICLE
    }

    pub(crate) fn has(&self, server: usize, place: Place, now: Duration) -> bool {
        let article = self.0[place.post].files[place.file].articles[place.segment as usize];
        article.missing & (1 << server) == 0 && now >= article.appears
    }
}

impl Post {
    fn draw(chance: &mut SplitMix, today: UnixTime, servers: usize) -> Self {
        let is_recent = chance.up_to(5) == 0;
        let age = if is_recent { chance.up_to(4000) } else { 100_000 + chance.up_to(1 << 24) };
        let date = UnixTime(today.0 - age as i64);
        let losses = [0, 0, 0, 1, 8][chance.up_to(4) as usize];
        let count = 1 + chance.up_to(3);
        let files = (0..count).map(|index| {
            let is_volume = index > 0 && chance.up_to(4) == 0;
            let articles = 1 + chance.up_to(5);
            let article = |_| Article::draw(chance, is_recent, losses, servers);
            PostedFile { is_volume, articles: (0..articles).map(article).collect() }
        });
        Self { date, files: files.collect() }
    }
}

impl Article {
    fn draw(chance: &mut SplitMix, is_recent: bool, losses: u64, servers: usize) -> Self {
        let is_lost = chance.up_to(15) < losses;
        let somewhere = chance.up_to((1 << servers) - 1) as u8;
        // Missing everywhere is drawn by itself, so that it is as rare as it is meant to be.
        let everywhere = ((1_u16 << servers) - 1) as u8;
        let missing = match chance.up_to(3) {
            0 if is_lost => everywhere,
            _ if is_lost && somewhere != everywhere => somewhere,
            _ => 0,
        };
        let is_late = is_recent && chance.up_to(3) == 0;
        let appears = if is_late { chance.up_to(3600) } else { 0 };
        Self { missing, appears: Duration::from_secs(appears) }
    }
}

pub(crate) fn fingerprint(nzb: &Nzb) -> Fingerprint {
    let mut bytes = Vec::new();
    nzb.fingerprint(|id| bytes.extend_from_slice(id));
    let (high, low) = (fnv64(bytes.iter().copied()), fnv32(bytes.iter().copied()));
    let mut print = [1; 16];
    print[..8].copy_from_slice(&high.to_le_bytes());
    print[8..12].copy_from_slice(&low.to_le_bytes());
    Fingerprint(print)
}

/// Decoded; the NZBs claim as much.
pub(crate) const ARTICLE: u64 = 700_000;
