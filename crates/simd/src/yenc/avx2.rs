//! Blocks as two vectors of 32 bytes.
//!
//! As with SSSE3, for twice as many bytes up to the squeezing. AVX2 shuffles within halves of 16
//! bytes only: so each half is looked up, shuffled and stored by itself, 16 bytes where the half
//! before it ends.

use std::arch::x86_64::*;

use super::blocks::{BLOCK, Room, Window, vector_unit};
use super::compress_table::WIDE;
use super::ssse3::{LAST_SLOT, slots};
use super::{ESCAPE_SHIFT, SHIFT};

/// Proof that the processor has AVX2 and what came with it: only `detect` makes one.
#[derive(Clone, Copy)]
pub(super) struct Avx2(());

impl Avx2 {
    pub(super) fn detect() -> Option<Self> {
        let found = is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("popcnt");
        found.then_some(Self(()))
    }
}

vector_unit!(Avx2, "avx2,bmi1,bmi2,popcnt");

#[derive(Clone, Copy)]
pub(super) struct Block {
    bytes: [__m256i; LANES],
    before: [__m256i; LANES],
}

#[inline]
#[target_feature(enable = "avx2")]
fn load_block(window: &Window) -> Block {
    let [mut bytes, mut before] = [[_mm256_setzero_si256(); LANES]; 2];
    for lane in 0..LANES {
        before[lane] = load(window, lane * LANE);
        bytes[lane] = load(window, lane * LANE + 1);
    }
    Block { bytes, before }
}

#[inline]
#[target_feature(enable = "avx2")]
fn gaps(block: Block) -> u64 {
    let mut mask = 0;
    for lane in 0..LANES {
        let escaped = equal(block.before[lane], b'=');
        let gaps = _mm256_andnot_si256(escaped, specials(block.bytes[lane]));
        mask |= mask_of(gaps) << (lane * LANE);
    }
    mask
}

/// `=` and dots behind `=` or LF: with `=.`, which no encoder writes, as the false alarm.
#[inline]
#[target_feature(enable = "avx2")]
fn is_suspect(block: Block) -> bool {
    let mut any = _mm256_setzero_si256();
    for lane in 0..LANES {
        let (bytes, before) = (block.bytes[lane], block.before[lane]);
        let here = _mm256_or_si256(equal(bytes, b'='), equal(bytes, b'.'));
        let behind = _mm256_or_si256(equal(before, b'='), equal(before, b'\n'));
        any = _mm256_or_si256(any, _mm256_and_si256(here, behind));
    }
    mask_of(any) != 0
}

#[cold]
#[target_feature(enable = "avx2")]
fn oddities(window: &Window) -> u64 {
    let block = load_block(window);
    let mut mask = 0;
    for lane in 0..LANES {
        let (bytes, before) = (block.bytes[lane], block.before[lane]);
        let escapes = equal(bytes, b'=');
        let starts = equal(before, b'\n');
        let dots = _mm256_and_si256(equal(bytes, b'.'), starts);
        let escapes = _mm256_and_si256(escapes, _mm256_or_si256(equal(before, b'='), starts));
        mask |= mask_of(_mm256_or_si256(dots, escapes)) << (lane * LANE);
    }
    mask
}

#[inline]
#[target_feature(enable = "avx2")]
fn put(block: Block, stay: u64, room: &mut Room) {
    let mut written = 0;
    for lane in 0..LANES {
        let lowered = lower(block.bytes[lane], block.before[lane]);
        let halves = [_mm256_castsi256_si128(lowered), _mm256_extracti128_si256(lowered, 1)];
        for (half, bytes) in halves.into_iter().enumerate() {
            let stay = (stay >> (lane * LANE + half * HALF)) as u16;
            let places = load_half(&WIDE[usize::from(stay & 0x7fff)]);
            store(room, written, _mm_shuffle_epi8(bytes, places));
            written += stay.count_ones() as usize;
        }
    }
}

/// As with SSSE3: `=`, CR and LF by one comparison.
#[inline]
#[target_feature(enable = "avx2")]
fn specials(bytes: __m256i) -> __m256i {
    let slots = _mm256_broadcastsi128_si256(slots());
    let clamped = _mm256_min_epu8(bytes, _mm256_set1_epi8(LAST_SLOT));
    _mm256_cmpeq_epi8(bytes, _mm256_shuffle_epi8(slots, clamped))
}

#[inline]
#[target_feature(enable = "avx2")]
fn lower(bytes: __m256i, before: __m256i) -> __m256i {
    let escaped = equal(before, b'=');
    let further = _mm256_and_si256(escaped, _mm256_set1_epi8(ESCAPE_SHIFT as i8));
    _mm256_sub_epi8(bytes, _mm256_add_epi8(further, _mm256_set1_epi8(SHIFT as i8)))
}

#[inline]
#[target_feature(enable = "avx2")]
fn equal(bytes: __m256i, byte: u8) -> __m256i {
    _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(byte as i8))
}

#[inline]
#[target_feature(enable = "avx2")]
fn mask_of(bytes: __m256i) -> u64 {
    u64::from(_mm256_movemask_epi8(bytes) as u32)
}

#[inline]
#[target_feature(enable = "avx2")]
fn load(window: &Window, at: usize) -> __m256i {
    let lane: &[u8; LANE] = window[at..].first_chunk().expect("lanes lie within the window");
    // SAFETY: `lane` is 32 bytes long, and no alignment is asked for.
    unsafe { _mm256_loadu_si256(lane.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx2")]
fn load_half(bytes: &[u8; HALF]) -> __m128i {
    // SAFETY: `bytes` is 16 bytes long, and no alignment is asked for.
    unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx2")]
fn store(room: &mut Room, at: usize, bytes: __m128i) {
    let half: &mut [u8; HALF] =
        room[at..].first_chunk_mut().expect("vectors give no more bytes than they have");
    // SAFETY: `half` is 16 bytes long, and no alignment is asked for.
    unsafe { _mm_storeu_si128(half.as_mut_ptr().cast(), bytes) }
}

const HALF: usize = 16;
const LANE: usize = 32;
const LANES: usize = BLOCK / LANE;
