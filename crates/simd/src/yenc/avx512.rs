//! Blocks as one vector of 64 bytes.
//!
//! Comparisons give masks at once, subtraction takes one, and VPCOMPRESSB squeezes out the gaps. It
//! goes to a register, which is then stored whole: straight to memory it is many times slower on
//! some processors.

use std::arch::x86_64::*;

use super::blocks::{Room, Vector, Window, block_loop};
use super::ssse3::{LAST_SLOT, slots};
use super::{ESCAPE_SHIFT, SHIFT};

/// Proof that the processor has AVX-512 with VBMI2: only `detect` makes one.
#[derive(Clone, Copy)]
pub(super) struct Avx512(());

impl Avx512 {
    pub(super) fn detect() -> Option<Self> {
        let found = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512vbmi2")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("popcnt");
        found.then_some(Self(()))
    }
}

block_loop!(Avx512, "avx512f,avx512bw,avx512vbmi2,bmi1,bmi2,popcnt");

impl Vector for Avx512 {
    type Block = Block;

    #[inline(always)]
    fn load(self, window: &Window) -> Block {
        // SAFETY: `self` proves that the processor has the features; so in all others.
        unsafe { load_block(window) }
    }

    #[inline(always)]
    fn gaps(self, block: Block) -> u64 {
        // SAFETY: as above.
        unsafe { gaps(block) }
    }

    #[inline(always)]
    fn is_suspect(self, block: Block) -> bool {
        // SAFETY: as above.
        unsafe { is_suspect(block) }
    }

    #[inline(always)]
    fn oddities(self, window: &Window) -> u64 {
        // SAFETY: as above.
        unsafe { oddities(window) }
    }

    #[inline(always)]
    fn put(self, block: Block, stay: u64, room: &mut Room) {
        // SAFETY: as above.
        unsafe { put(block, stay, room) }
    }
}

#[derive(Clone, Copy)]
pub(super) struct Block {
    bytes: __m512i,
    before: __m512i,
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn load_block(window: &Window) -> Block {
    let [before @ .., _] = window;
    let [_, bytes @ ..] = window;
    Block { bytes: load(bytes), before: load(before) }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn gaps(Block { bytes, before }: Block) -> u64 {
    specials(bytes) & !equal(before, b'=')
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn is_suspect(block: Block) -> bool {
    odd_bytes(block) != 0
}

#[cold]
#[target_feature(enable = "avx512f,avx512bw")]
fn oddities(window: &Window) -> u64 {
    odd_bytes(load_block(window))
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn odd_bytes(Block { bytes, before }: Block) -> u64 {
    let (escapes, dots) = (equal(bytes, b'='), equal(bytes, b'.'));
    let (behind_escapes, starts) = (equal(before, b'='), equal(before, b'\n'));
    (escapes & behind_escapes) | ((escapes | dots) & starts)
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi2")]
fn put(Block { bytes, before }: Block, stay: u64, room: &mut Room) {
    let lowered = _mm512_sub_epi8(bytes, all(SHIFT));
    let escaped = equal(before, b'=');
    let lowered = _mm512_mask_sub_epi8(lowered, escaped, lowered, all(ESCAPE_SHIFT));
    store(room, _mm512_maskz_compress_epi8(stay, lowered));
}

/// As with SSSE3: `=`, CR and LF by one comparison. Three would give the same masks for a ninth
/// less speed.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn specials(bytes: __m512i) -> u64 {
    let clamped = _mm512_min_epu8(bytes, _mm512_set1_epi8(LAST_SLOT));
    _mm512_cmpeq_epi8_mask(bytes, _mm512_shuffle_epi8(_mm512_broadcast_i32x4(slots()), clamped))
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn equal(bytes: __m512i, byte: u8) -> u64 {
    _mm512_cmpeq_epi8_mask(bytes, all(byte))
}

#[inline]
#[target_feature(enable = "avx512f")]
fn all(byte: u8) -> __m512i {
    _mm512_set1_epi8(byte as i8)
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load(bytes: &[u8; 64]) -> __m512i {
    // SAFETY: `bytes` is as long as the vector, and no alignment is asked for.
    unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn store(room: &mut Room, bytes: __m512i) {
    // SAFETY: `room` is as long as the vector, and no alignment is asked for.
    unsafe { _mm512_storeu_si512(room.as_mut_ptr().cast(), bytes) }
}
