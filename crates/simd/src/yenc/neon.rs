//! [`Registers`] of 16 bytes, four per block, on 64-bit ARM, where every processor has them.
//!
//! NEON has no instruction that makes a bit mask of a vector. Each byte keeps the bit of its place,
//! and adding neighbours three times packs the 64 bits.

use std::arch::aarch64::*;

use super::blocks::{BLOCK, Room, Window};
use super::compress_table::{HIGH, LOW};
use super::lanes::{Registers, binary_operations, lanes_unit, store_halves};

/// Proof that the processor has NEON: only `detect` makes one.
#[derive(Clone, Copy)]
pub(super) struct Neon(());

impl Neon {
    pub(super) fn detect() -> Option<Self> {
        std::arch::is_aarch64_feature_detected!("neon").then_some(Self(()))
    }
}

lanes_unit!(Neon, LANES, "neon");

impl Registers<LANES> for Neon {
    type Register = uint8x16_t;

    #[inline(always)]
    fn load(self, window: &Window, at: usize) -> uint8x16_t {
        let lane: &[u8; LANE] = window[at..].first_chunk().expect("lanes lie within the window");
        // SAFETY: `self` proves that the processor has NEON. `lane` is 16 bytes long, and the load
        // needs no alignment.
        unsafe { vld1q_u8(lane.as_ptr()) }
    }

    #[inline(always)]
    fn splat(self, byte: u8) -> uint8x16_t {
        // SAFETY: `self` proves that the processor has NEON; so in all below.
        unsafe { vdupq_n_u8(byte) }
    }

    binary_operations! {
        equal = vceqq_u8,
        and = vandq_u8,
        or = vorrq_u8,
        and_not = vbicq_u8,
        add = vaddq_u8,
        sub = vsubq_u8,
    }

    #[inline(always)]
    fn specials(self, bytes: uint8x16_t) -> uint8x16_t {
        let [escapes, returns, feeds] =
            [b'=', b'\r', b'\n'].map(|byte| self.equal(bytes, self.splat(byte)));
        self.or(self.or(returns, feeds), escapes)
    }

    #[inline(always)]
    fn any(self, compared: uint8x16_t) -> bool {
        // SAFETY: as above.
        unsafe { vmaxvq_u8(compared) != 0 }
    }

    #[inline(always)]
    fn mask(self, [a, b, c, d]: [uint8x16_t; LANES]) -> u64 {
        // SAFETY: as above.
        unsafe {
            let places = vreinterpretq_u8_u64(vdupq_n_u64(0x8040_2010_0804_0201));
            let pairs = [
                vpaddq_u8(vandq_u8(a, places), vandq_u8(b, places)),
                vpaddq_u8(vandq_u8(c, places), vandq_u8(d, places)),
            ];
            let fours = vpaddq_u8(pairs[0], pairs[1]);
            vgetq_lane_u64(vreinterpretq_u64_u8(vpaddq_u8(fours, fours)), 0)
        }
    }

    #[inline(always)]
    fn compress(self, bytes: uint8x16_t, stay: u64, room: &mut Room, at: usize) -> usize {
        let stay = stay as u16;
        let [low, high] = stay.to_le_bytes();
        let mut halves = [LOW[usize::from(low)], HIGH[usize::from(high)]];
        for half in &mut halves {
            // SAFETY: as above.
            unsafe {
                let bytes = vqtbl1_u8(bytes, vcreate_u8(*half));
                *half = vget_lane_u64(vreinterpret_u64_u8(bytes), 0);
            }
        }
        store_halves(halves, stay, room, at)
    }
}

const LANE: usize = 16;
const LANES: usize = BLOCK / LANE;
