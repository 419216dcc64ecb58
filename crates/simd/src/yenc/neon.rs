//! Blocks as four vectors of 16 bytes, on 64-bit ARM, where every processor has them.
//!
//! As with SSSE3, but there is no instruction that makes a mask of a vector: each byte keeps the bit
//! of its place, and adding neighbours three times packs the 64 of them.

use std::arch::aarch64::*;

use super::blocks::{BLOCK, Room, Window, vector_unit};
use super::compress_table::{HIGH, LOW};
use super::{ESCAPE_SHIFT, SHIFT};

/// Proof that the processor has NEON: only `detect` makes one.
#[derive(Clone, Copy)]
pub(super) struct Neon(());

impl Neon {
    pub(super) fn detect() -> Option<Self> {
        std::arch::is_aarch64_feature_detected!("neon").then_some(Self(()))
    }
}

vector_unit!(Neon, "neon");

#[derive(Clone, Copy)]
pub(super) struct Block {
    bytes: Lanes,
    before: Lanes,
}

type Lanes = [uint8x16_t; LANES];

#[inline]
#[target_feature(enable = "neon")]
fn load_block(window: &Window) -> Block {
    let [mut bytes, mut before] = [[vdupq_n_u8(0); LANES]; 2];
    for lane in 0..LANES {
        before[lane] = load(window, lane * LANE);
        bytes[lane] = load(window, lane * LANE + 1);
    }
    Block { bytes, before }
}

#[inline]
#[target_feature(enable = "neon")]
fn gaps(block: Block) -> u64 {
    let mut gaps = block.bytes;
    for (bytes, before) in gaps.iter_mut().zip(block.before) {
        let ends = vorrq_u8(equal(*bytes, b'\r'), equal(*bytes, b'\n'));
        let specials = vorrq_u8(ends, equal(*bytes, b'='));
        *bytes = vbicq_u8(specials, equal(before, b'='));
    }
    mask_of(gaps)
}

#[inline]
#[target_feature(enable = "neon")]
fn is_suspect(block: Block) -> bool {
    let [a, b, c, d] = odd_bytes(block);
    vmaxvq_u8(vorrq_u8(vorrq_u8(a, b), vorrq_u8(c, d))) != 0
}

#[cold]
#[target_feature(enable = "neon")]
fn oddities(window: &Window) -> u64 {
    mask_of(odd_bytes(load_block(window)))
}

#[inline]
#[target_feature(enable = "neon")]
fn odd_bytes(block: Block) -> Lanes {
    let mut odd = block.bytes;
    for (bytes, before) in odd.iter_mut().zip(block.before) {
        let escapes = equal(*bytes, b'=');
        let starts = vandq_u8(vorrq_u8(escapes, equal(*bytes, b'.')), equal(before, b'\n'));
        *bytes = vorrq_u8(starts, vandq_u8(escapes, equal(before, b'=')));
    }
    odd
}

#[inline]
#[target_feature(enable = "neon")]
fn put(block: Block, stay: u64, room: &mut Room) {
    let mut written = 0;
    for lane in 0..LANES {
        let lowered = lower(block.bytes[lane], block.before[lane]);
        let stay = (stay >> (lane * LANE)) as u16;
        let room = room[written..].first_chunk_mut();
        squeeze(lowered, stay, room.expect("vectors give no more bytes than they have"));
        written += stay.count_ones() as usize;
    }
}

#[inline]
#[target_feature(enable = "neon")]
fn lower(bytes: uint8x16_t, before: uint8x16_t) -> uint8x16_t {
    let further = vandq_u8(equal(before, b'='), vdupq_n_u8(ESCAPE_SHIFT));
    vsubq_u8(bytes, vaddq_u8(further, vdupq_n_u8(SHIFT)))
}

/// Puts the bytes that `stay` one behind the other, in two halves of eight.
#[inline]
#[target_feature(enable = "neon")]
fn squeeze(bytes: uint8x16_t, stay: u16, room: &mut [u8; LANE]) {
    let [low, high] = stay.to_le_bytes();
    let first = vqtbl1_u8(bytes, vcreate_u8(LOW[low as usize]));
    let second = vqtbl1_u8(bytes, vcreate_u8(HIGH[high as usize]));
    let [first, second] = [first, second].map(|half| vget_lane_u64(vreinterpret_u64_u8(half), 0));
    room[..8].copy_from_slice(&first.to_le_bytes());
    room[low.count_ones() as usize..][..8].copy_from_slice(&second.to_le_bytes());
}

#[inline]
#[target_feature(enable = "neon")]
fn mask_of([a, b, c, d]: Lanes) -> u64 {
    let places = vreinterpretq_u8_u64(vdupq_n_u64(0x8040_2010_0804_0201));
    let pairs = [
        vpaddq_u8(vandq_u8(a, places), vandq_u8(b, places)),
        vpaddq_u8(vandq_u8(c, places), vandq_u8(d, places)),
    ];
    let fours = vpaddq_u8(pairs[0], pairs[1]);
    vgetq_lane_u64(vreinterpretq_u64_u8(vpaddq_u8(fours, fours)), 0)
}

#[inline]
#[target_feature(enable = "neon")]
fn equal(bytes: uint8x16_t, byte: u8) -> uint8x16_t {
    vceqq_u8(bytes, vdupq_n_u8(byte))
}

#[inline]
#[target_feature(enable = "neon")]
fn load(window: &Window, at: usize) -> uint8x16_t {
    let lane: &[u8; LANE] = window[at..].first_chunk().expect("lanes lie within the window");
    // SAFETY: `lane` is as long as the vector, and no alignment is asked for.
    unsafe { vld1q_u8(lane.as_ptr()) }
}

const LANE: usize = 16;
const LANES: usize = BLOCK / LANE;
