//! The yEnc kernels against their scalar twin, and against sabctools, which has rapidyenc inside.
//! `cargo bench --package bergamot-benches --bench kernels`
//!
//! All take turns over the same articles. Each article is first copied to where a socket would have
//! put it; only then the clock runs.

mod sabctools;

use std::hint::black_box;
use std::time::{Duration, Instant};

use bergamot_benches::{Bench, Entry};
use bergamot_simd::yenc::{Kernel, LineState, Stop};
use bergamot_yenc::{Decoder, encode};

use crate::sabctools::Sabctools;

fn main() {
    let articles = &(1..=ARTICLES).map(article).collect::<Vec<_>>();
    let bytes = articles.iter().map(Vec::len).sum();
    let mut sabctools = match Sabctools::start(articles) {
        Ok(sabctools) => Some(sabctools),
        Err(error) => {
            println!("sabctools is not measured: {error}");
            None
        }
    };
    let mut entries: Vec<Entry<'_>> = Vec::new();
    for kernel in Kernel::available() {
        let mut desk = Desk::default();
        let work = move || desk.round(articles, |wire, out| decode(kernel, wire, out));
        entries.push((format!("{}, decode only", kernel.name()), Box::new(work)));
    }
    let (mut desk, mut decoder) = (Desk::default(), Decoder::new());
    let work = move || desk.round(articles, |wire, out| decode_in_reads(&mut decoder, wire, out));
    entries.push(("bergamot, decode and CRC, 16 KiB a read".to_owned(), Box::new(work)));
    let (mut desk, mut decoder) = (Desk::default(), Decoder::new());
    let work = move || desk.round(articles, |wire, out| decode_with_crc(&mut decoder, wire, out));
    entries.push(("bergamot, decode and CRC".to_owned(), Box::new(work)));
    let sabctools_runs = sabctools.is_some();
    if let Some(sabctools) = &mut sabctools {
        entries.push((sabctools.name.clone(), Box::new(|| sabctools.round())));
    }
    let speeds = Bench::new().alternate(bytes, &mut entries);
    if let [.., ours, theirs] = speeds[..]
        && sabctools_runs
    {
        println!("bergamot / sabctools: {:.2}", ours / theirs);
    }
}

/// The buffers of one competitor.
#[derive(Default)]
struct Desk {
    wire: Vec<u8>,
    out: Vec<u8>,
}

impl Desk {
    fn round(&mut self, articles: &[Vec<u8>], mut work: impl FnMut(&[u8], &mut [u8])) -> Duration {
        self.out.resize(ARTICLE, 0);
        let mut sum = Duration::ZERO;
        for article in articles {
            self.wire.clone_from(article);
            let start = Instant::now();
            work(black_box(&self.wire), black_box(&mut self.out));
            sum += start.elapsed();
        }
        sum
    }
}

fn decode_with_crc(decoder: &mut Decoder, wire: &[u8], out: &mut [u8]) {
    let step = decoder.decode(wire, out);
    assert!(step.ended && decoder.finish().fault.is_none(), "we decode what we encoded");
}

/// A TLS record at a time.
fn decode_in_reads(decoder: &mut Decoder, wire: &[u8], out: &mut [u8]) {
    let mut written = 0;
    for read in wire.chunks(16 << 10) {
        written += decoder.decode(read, &mut out[written..]).written;
    }
    assert!(decoder.finish().fault.is_none(), "we decode what we encoded");
}

/// As the decoder of a body calls the kernel, but for its checks.
fn decode(kernel: Kernel, wire: &[u8], out: &mut [u8]) {
    let (mut read, mut written, mut state) = (0, 0, LineState::Start);
    loop {
        let step = kernel.decode(&mut state, &wire[read..], &mut out[written..]);
        read += step.consumed;
        written += step.written;
        match step.stop {
            Stop::Control => read += 1 + wire[read..].iter().take_while(|&&b| b != b'\n').count(),
            Stop::End => break,
            Stop::Input | Stop::Output => unreachable!("articles end, and fit"),
        }
    }
    assert_eq!(written, ARTICLE);
}

fn article(number: u32) -> Vec<u8> {
    let mut seed = u64::from(number);
    let mut random = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 56) as u8
    };
    let data: Vec<u8> = (0..ARTICLE).map(|_| random()).collect();
    let part = encode::Part {
        name: "bench.bin",
        number,
        total: ARTICLES,
        file_size: u64::from(ARTICLES) * ARTICLE as u64,
        offset: u64::from(number - 1) * ARTICLE as u64,
        data: &data,
    };
    let mut wire = Vec::new();
    part.write_wire(&mut wire);
    wire
}

const ARTICLE: usize = 700 << 10;
const ARTICLES: u32 = 24;
