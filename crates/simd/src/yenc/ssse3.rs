//! Blocks as four vectors of 16 bytes.
//!
//! SSSE3 brought PSHUFB, a lookup in a table of 16 bytes. It serves twice: to find three special
//! bytes by one comparison, and to squeeze out gaps. The previous bytes are compared as vectors, so
//! that masks, which are dear here, are needed of the gaps alone.

use std::arch::x86_64::*;

use super::blocks::{BLOCK, Room, Window, vector_unit};
use super::compress_table::{HIGH, LOW};
use super::{ESCAPE_SHIFT, SHIFT};

/// Proof that the processor has SSSE3 and POPCNT: only `detect` makes one.
///
/// POPCNT came two years later. The few processors between are left to the kernel for all.
#[derive(Clone, Copy)]
pub(super) struct Ssse3(());

impl Ssse3 {
    pub(super) fn detect() -> Option<Self> {
        let found = is_x86_feature_detected!("ssse3") && is_x86_feature_detected!("popcnt");
        found.then_some(Self(()))
    }
}

vector_unit!(Ssse3, "ssse3,popcnt");

#[derive(Clone, Copy)]
pub(super) struct Block {
    bytes: [__m128i; LANES],
    before: [__m128i; LANES],
}

#[inline]
#[target_feature(enable = "ssse3")]
fn load_block(window: &Window) -> Block {
    let [mut bytes, mut before] = [[_mm_setzero_si128(); LANES]; 2];
    for lane in 0..LANES {
        before[lane] = load(window, lane * LANE);
        bytes[lane] = load(window, lane * LANE + 1);
    }
    Block { bytes, before }
}

#[inline]
#[target_feature(enable = "ssse3")]
fn gaps(block: Block) -> u64 {
    let mut mask = 0;
    for lane in 0..LANES {
        let escaped = equal(block.before[lane], b'=');
        let gaps = _mm_andnot_si128(escaped, specials(block.bytes[lane]));
        mask |= mask_of(gaps) << (lane * LANE);
    }
    mask
}

/// `=` and dots behind `=` or LF: with `=.`, which no encoder writes, as the false alarm.
#[inline]
#[target_feature(enable = "ssse3")]
fn is_suspect(block: Block) -> bool {
    let mut any = _mm_setzero_si128();
    for lane in 0..LANES {
        let (bytes, before) = (block.bytes[lane], block.before[lane]);
        let here = _mm_or_si128(equal(bytes, b'='), equal(bytes, b'.'));
        let behind = _mm_or_si128(equal(before, b'='), equal(before, b'\n'));
        any = _mm_or_si128(any, _mm_and_si128(here, behind));
    }
    mask_of(any) != 0
}

#[cold]
#[target_feature(enable = "ssse3")]
fn oddities(window: &Window) -> u64 {
    let block = load_block(window);
    let mut mask = 0;
    for lane in 0..LANES {
        let (bytes, before) = (block.bytes[lane], block.before[lane]);
        let escapes = equal(bytes, b'=');
        let starts = equal(before, b'\n');
        let dots = _mm_and_si128(equal(bytes, b'.'), starts);
        let escapes = _mm_and_si128(escapes, _mm_or_si128(equal(before, b'='), starts));
        mask |= mask_of(_mm_or_si128(dots, escapes)) << (lane * LANE);
    }
    mask
}

#[inline]
#[target_feature(enable = "ssse3")]
fn put(block: Block, stay: u64, room: &mut Room) {
    let mut written = 0;
    for lane in 0..LANES {
        let lowered = lower(block.bytes[lane], block.before[lane]);
        let stay = (stay >> (lane * LANE)) as u16;
        squeeze(lowered, stay, room_at(room, written));
        written += stay.count_ones() as usize;
    }
}

/// `=`, CR and LF by one comparison: clamped to [`LAST_SLOT`], every byte picks a slot by its low
/// nibble, and only those three find themselves there.
#[inline]
#[target_feature(enable = "ssse3")]
fn specials(bytes: __m128i) -> __m128i {
    let clamped = _mm_min_epu8(bytes, _mm_set1_epi8(LAST_SLOT));
    _mm_cmpeq_epi8(bytes, _mm_shuffle_epi8(slots(), clamped))
}

/// LF and CR have slots 10 and 13; slot 14 is shared by all bytes from [`LAST_SLOT`] on and holds
/// `=`. In the others is a byte that never comes there.
#[inline]
#[target_feature(enable = "ssse3")]
pub(super) fn slots() -> __m128i {
    _mm_setr_epi8(-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 0x0a, -1, -1, 0x0d, 0x3d, -1)
}

#[inline]
#[target_feature(enable = "ssse3")]
fn lower(bytes: __m128i, before: __m128i) -> __m128i {
    let escaped = equal(before, b'=');
    let further = _mm_and_si128(escaped, _mm_set1_epi8(ESCAPE_SHIFT as i8));
    _mm_sub_epi8(bytes, _mm_add_epi8(further, _mm_set1_epi8(SHIFT as i8)))
}

/// Puts the bytes that `stay` one behind the other, in two halves of eight: the second is stored
/// where the bytes of the first that count end, over those that do not.
#[inline]
#[target_feature(enable = "ssse3")]
fn squeeze(bytes: __m128i, stay: u16, room: &mut [u8; LANE]) {
    let [low, high] = stay.to_le_bytes();
    let first = _mm_shuffle_epi8(bytes, _mm_cvtsi64_si128(LOW[low as usize] as i64));
    let second = _mm_shuffle_epi8(bytes, _mm_cvtsi64_si128(HIGH[high as usize] as i64));
    room[..8].copy_from_slice(&_mm_cvtsi128_si64(first).to_le_bytes());
    room[low.count_ones() as usize..][..8]
        .copy_from_slice(&_mm_cvtsi128_si64(second).to_le_bytes());
}

#[inline]
#[target_feature(enable = "ssse3")]
fn equal(bytes: __m128i, byte: u8) -> __m128i {
    _mm_cmpeq_epi8(bytes, _mm_set1_epi8(byte as i8))
}

#[inline]
#[target_feature(enable = "ssse3")]
fn mask_of(bytes: __m128i) -> u64 {
    u64::from(_mm_movemask_epi8(bytes) as u16)
}

#[inline]
#[target_feature(enable = "ssse3")]
fn load(window: &Window, at: usize) -> __m128i {
    let lane: &[u8; LANE] = window[at..].first_chunk().expect("lanes lie within the window");
    // SAFETY: `lane` is 16 bytes long, and no alignment is asked for.
    unsafe { _mm_loadu_si128(lane.as_ptr().cast()) }
}

/// Room for one vector, behind what earlier ones have `written`.
#[inline(always)]
fn room_at(room: &mut Room, written: usize) -> &mut [u8; LANE] {
    room[written..].first_chunk_mut().expect("vectors give no more bytes than they have")
}

pub(super) const LAST_SLOT: i8 = 0x2e;
const LANE: usize = 16;
const LANES: usize = BLOCK / LANE;
