//! What a large NZB costs while it is read.

#![allow(unsafe_code, reason = "an allocator that counts has to be one")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use bergamot_nzb::{Limits, read};

struct Counting;

static NOW: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

fn add(size: usize) {
    let now = NOW.fetch_add(size, Ordering::Relaxed) + size;
    PEAK.fetch_max(now, Ordering::Relaxed);
}

// SAFETY: every call goes to the system's allocator as it came; only numbers are added.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        add(layout.size());
        // SAFETY: the caller keeps the contract of `alloc`, which is also that of `System`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the block came from `System` with this layout.
        unsafe { System.dealloc(block, layout) }
    }

    /// Blocks of megabytes are moved by remapping pages, so old and new never exist at once.
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        NOW.fetch_sub(layout.size(), Ordering::Relaxed);
        add(size);
        // SAFETY: the block came from `System` with this layout.
        unsafe { System.realloc(block, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// One test, lest another one's memory be counted.
#[test]
fn a_million_segments_cost_less_than_96_bytes_each() {
    for (files, backwards, alternates) in [
        (1, false, false),
        (1, true, false),
        (1, false, true),
        (1000, false, false),
        (1000, true, false),
        (1000, true, true),
        (50_000, false, false),
    ] {
        let text = million(files, backwards, alternates);
        let before = NOW.load(Ordering::Relaxed);
        PEAK.store(before, Ordering::Relaxed);
        let nzb = read(text.as_bytes(), &Limits::default()).unwrap();
        let peak = PEAK.load(Ordering::Relaxed) - before;
        assert_eq!((nzb.segments(), nzb.files.len()), (SEGMENTS, files));
        let further: usize = nzb.files.iter().map(|file| file.segments.alternates().count()).sum();
        assert_eq!(further, if alternates { SEGMENTS / 20 } else { 0 });
        let each = peak / SEGMENTS;
        println!("{files} files, backwards {backwards}: {each} bytes per segment");
        assert!(each <= 96, "{each} bytes per segment in {files} files, backwards: {backwards}");
    }
}

const SEGMENTS: usize = 1_000_000;

/// With `alternates`, every twentieth segment has a second id.
fn million(files: usize, backwards: bool, alternates: bool) -> String {
    let each = SEGMENTS / files;
    let mut text = "<nzb>\n".to_owned();
    for file in 0..files {
        text += "<file poster=\"someone@example.com\" date=\"1700000000\" subject=\"&quot;some.file.name.part001.rar&quot; yEnc (1/1000)\">\n";
        text += "<groups><group>alt.binaries.test</group></groups>\n<segments>\n";
        for n in 1..=each {
            let number = if backwards { each + 1 - n } else { n };
            let serial = file * each + number;
            text += &format!(
                "<segment bytes=\"739000\" number=\"{number}\">part{number:07}of{serial:07}.abcdefghijk@powerpost.local</segment>\n"
            );
            if alternates && n % 20 == 0 {
                text += &format!(
                    "<segment bytes=\"739000\" number=\"{number}\">{serial:030}@other.example.local</segment>\n"
                );
            }
        }
        text += "</segments>\n</file>\n";
    }
    text + "</nzb>\n"
}
