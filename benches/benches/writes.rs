//! Ways to bring articles to a disk. `cargo bench --package bergamot-benches --bench writes -- DIR`
//!
//! A file is written in articles of 700 KiB, as the writer does, and in other ways: without setting
//! the space aside, in smaller pieces, out of order, by more threads, with the kernel told to begin to
//! write or to forget, and past the page cache. CPU counts as much as time: on a small machine it is all
//! there is.

use std::fs::{self, File, OpenOptions};
use std::hint::black_box;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{Advice, FallocateFlags, OFlags, fadvise, fallocate, fdatasync};

/// One way to write.
#[derive(Clone, Copy)]
struct Way {
    name: &'static str,
    preallocate: bool,
    piece: usize,
    shuffled: bool,
    threads: usize,
    /// What becomes of what was written.
    fate: Fate,
}

#[derive(Clone, Copy, Eq, PartialEq)]
enum Fate {
    /// It never sees the page cache.
    Direct,
    /// Brought to the disk behind every so many articles.
    Flushed,
    /// And dropped from the page cache then.
    Forgotten,
    /// Left to the kernel.
    Left,
}

const USUAL: Way = Way {
    name: "as the writer does (yardstick)",
    preallocate: true,
    piece: ARTICLE,
    shuffled: false,
    threads: 1,
    fate: Fate::Left,
};

fn main() {
    let given = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let directory = given.map_or_else(std::env::temp_dir, PathBuf::from);
    let ways = [
        USUAL,
        Way { name: "no preallocation", preallocate: false, ..USUAL },
        Way { name: "no preallocation, out of order", preallocate: false, shuffled: true, ..USUAL },
        Way { name: "out of order", shuffled: true, ..USUAL },
        Way { name: "pieces of 256 KiB", piece: 256 << 10, ..USUAL },
        Way { name: "pieces of 64 KiB", piece: 64 << 10, ..USUAL },
        Way { name: "pieces of 16 KiB", piece: 16 << 10, ..USUAL },
        Way { name: "two threads", threads: 2, ..USUAL },
        Way { name: "four threads", threads: 4, ..USUAL },
        Way { name: "flushed", fate: Fate::Flushed, ..USUAL },
        Way { name: "forgotten by the page cache", fate: Fate::Forgotten, ..USUAL },
        Way { name: "past the page cache", fate: Fate::Direct, ..USUAL },
        Way { name: "past the page cache, three threads", fate: Fate::Direct, threads: 3, ..USUAL },
    ];
    println!("{} of {} articles", directory.display(), ARTICLES);
    println!("{:<36} {:>8} {:>8} {:>8} {:>8}", "", "s", "ratio", "CPU s", "ratio");
    let mut best = vec![(Duration::MAX, Duration::MAX); ways.len()];
    for _ in 0..ROUNDS {
        for (way, best) in ways.iter().zip(&mut best) {
            let (wall, cpu) = measure(&directory, *way);
            *best = (best.0.min(wall), best.1.min(cpu));
        }
    }
    let (wall, cpu) = best[0];
    for (way, (took, busy)) in ways.iter().zip(&best) {
        let (took, busy) = (took.as_secs_f64(), busy.as_secs_f64());
        let (time, load) = (took / wall.as_secs_f64(), busy / cpu.as_secs_f64());
        println!("{:<36} {took:>8.3} {time:>8.2} {busy:>8.2} {load:>8.2}", way.name);
    }
}

fn measure(directory: &Path, way: Way) -> (Duration, Duration) {
    let path = directory.join(format!("bergamot-writes-{}", std::process::id()));
    let (start, busy) = (Instant::now(), cpu());
    write(&path, way);
    let result = (start.elapsed(), cpu() - busy);
    fs::remove_file(path).expect("it was written");
    result
}

fn write(path: &Path, way: Way) {
    let flags = if way.fate == Fate::Direct { OFlags::DIRECT } else { OFlags::empty() };
    let mut options = OpenOptions::new();
    options.create_new(true).write(true).custom_flags(flags.bits().cast_signed());
    let file = options.open(path).expect("a new file, on a file system that knows O_DIRECT");
    if way.preallocate {
        // Where that is not possible the file grows as it is written.
        let _ = fallocate(&file, FallocateFlags::empty(), 0, (ARTICLES * ARTICLE) as u64);
    }
    let memory: Vec<u8> = (0..ARTICLE + PAGE).map(|n| ((n * 31) >> 3) as u8).collect();
    let bytes = &memory[memory.as_ptr().align_offset(PAGE)..][..ARTICLE];
    thread::scope(|scope| {
        for lane in 0..way.threads {
            let file = &file;
            scope.spawn(move || {
                (lane..ARTICLES).step_by(way.threads).for_each(|turn| {
                    let article = if way.shuffled { turn * 577 % ARTICLES } else { turn };
                    write_article(file, bytes, article, way);
                });
            });
        }
    });
}

fn write_article(file: &File, bytes: &[u8], article: usize, way: Way) {
    let offset = (article * ARTICLE) as u64;
    for (piece, place) in bytes.chunks(way.piece).zip((offset..).step_by(way.piece)) {
        file.write_all_at(black_box(piece), place).expect("room on the disk");
    }
    let is_due = article % FLUSHED_AT_ONCE == FLUSHED_AT_ONCE - 1;
    if is_due && matches!(way.fate, Fate::Flushed | Fate::Forgotten) {
        fdatasync(file).expect("a disk");
    }
    if is_due && way.fate == Fate::Forgotten {
        fadvise(file, 0, None, Advice::DontNeed).expect("a file");
    }
}

/// User and system time of this process.
fn cpu() -> Duration {
    let stat = fs::read_to_string("/proc/self/stat").expect("Linux");
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    let ticks: u64 = fields.skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum();
    Duration::from_millis(ticks * 10)
}

const ARTICLE: usize = 700 << 10;
const ARTICLES: usize = 1024; // 577 has no divisor in common with it
const PAGE: usize = 4 << 10;
const FLUSHED_AT_ONCE: usize = 46; // 32 MiB
const ROUNDS: usize = 3;
