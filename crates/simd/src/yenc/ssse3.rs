//! [`Registers`] of 16 bytes, four per block.
//!
//! SSSE3 added PSHUFB, a lookup in a table of 16 bytes. It finds the three special bytes with one
//! comparison, and it compresses.

use std::arch::x86_64::*;

use super::blocks::{BLOCK, Room, Window};
use super::compress_table::{HIGH, LOW};
use super::lanes::{Registers, binary_operations, lanes_unit, store_halves};

/// Proof that the processor has SSSE3 and POPCNT: only `detect` makes one.
///
/// POPCNT came two years after SSSE3. The few processors with SSSE3 alone use
/// [`Kernel::Swar`](super::Kernel::Swar).
#[derive(Clone, Copy)]
pub(super) struct Ssse3(());

impl Ssse3 {
    pub(super) fn detect() -> Option<Self> {
        let found = is_x86_feature_detected!("ssse3") && is_x86_feature_detected!("popcnt");
        found.then_some(Self(()))
    }
}

lanes_unit!(Ssse3, LANES, "ssse3,popcnt");

impl Registers<LANES> for Ssse3 {
    type Register = __m128i;

    #[inline(always)]
    fn load(self, window: &Window, at: usize) -> __m128i {
        let lane: &[u8; LANE] = window[at..].first_chunk().expect("lanes lie within the window");
        // SAFETY: `self` proves that the processor has SSE2, as it has SSSE3. `lane` is 16 bytes
        // long, and the load needs no alignment.
        unsafe { _mm_loadu_si128(lane.as_ptr().cast()) }
    }

    #[inline(always)]
    fn splat(self, byte: u8) -> __m128i {
        // SAFETY: `self` proves that the processor has SSSE3; so in all below.
        unsafe { _mm_set1_epi8(byte as i8) }
    }

    binary_operations! {
        equal = _mm_cmpeq_epi8,
        and = _mm_and_si128,
        or = _mm_or_si128,
        add = _mm_add_epi8,
        sub = _mm_sub_epi8,
    }

    #[inline(always)]
    fn and_not(self, a: __m128i, b: __m128i) -> __m128i {
        // SAFETY: as above.
        unsafe { _mm_andnot_si128(b, a) }
    }

    /// Compares each byte with one of [`slots`]: the byte limited to [`LAST_SLOT`] selects it by its
    /// low nibble, and only `=`, CR and LF are equal to what they select.
    #[inline(always)]
    fn specials(self, bytes: __m128i) -> __m128i {
        // SAFETY: as above.
        unsafe {
            let clamped = _mm_min_epu8(bytes, _mm_set1_epi8(LAST_SLOT));
            _mm_cmpeq_epi8(bytes, _mm_shuffle_epi8(slots(), clamped))
        }
    }

    #[inline(always)]
    fn any(self, compared: __m128i) -> bool {
        // SAFETY: as above.
        unsafe { _mm_movemask_epi8(compared) != 0 }
    }

    #[inline(always)]
    fn mask(self, compared: [__m128i; LANES]) -> u64 {
        let mut mask = 0;
        for (lane, compared) in compared.into_iter().enumerate() {
            // SAFETY: as above.
            let lane_mask = unsafe { _mm_movemask_epi8(compared) };
            mask |= u64::from(lane_mask as u16) << (lane * LANE);
        }
        mask
    }

    #[inline(always)]
    fn compress(self, bytes: __m128i, stay: u64, room: &mut Room, at: usize) -> usize {
        let stay = stay as u16;
        let [low, high] = stay.to_le_bytes();
        let mut halves = [LOW[usize::from(low)], HIGH[usize::from(high)]];
        for half in &mut halves {
            // SAFETY: as above.
            unsafe {
                let places = _mm_cvtsi64_si128(*half as i64);
                *half = _mm_cvtsi128_si64(_mm_shuffle_epi8(bytes, places)) as u64;
            }
        }
        store_halves(halves, stay, room, at)
    }
}

/// LF and CR are in slots 10 and 13. Slot 14 is that of all bytes from [`LAST_SLOT`] on and holds
/// `=`. The other slots hold a byte that never selects them.
#[inline]
#[target_feature(enable = "ssse3")]
pub(super) fn slots() -> __m128i {
    _mm_setr_epi8(-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 0x0a, -1, -1, 0x0d, 0x3d, -1)
}

pub(super) const LAST_SLOT: i8 = 0x2e;
const LANE: usize = 16;
const LANES: usize = BLOCK / LANE;
