//! [`Registers`] of 32 bytes, two per block.
//!
//! AVX2 shuffles within halves of 16 bytes only. Therefore compressing looks up, shuffles and stores
//! each half on its own, 16 bytes from where the previous half ends.

use std::arch::x86_64::*;

use super::blocks::{BLOCK, Room, Window};
use super::compress_table::WIDE;
use super::lanes::{FITS, Registers, binary_operations, lanes_unit};
use super::ssse3::{LAST_SLOT, slots};

/// Proof that the processor has AVX2, BMI1, BMI2 and POPCNT: only `detect` makes one.
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

lanes_unit!(Avx2, LANES, "avx2,bmi1,bmi2,popcnt");

impl Registers<LANES> for Avx2 {
    type Register = __m256i;

    #[inline(always)]
    fn load(self, window: &Window, at: usize) -> __m256i {
        let lane: &[u8; LANE] = window[at..].first_chunk().expect("lanes lie within the window");
        // SAFETY: `self` proves that the processor has AVX2. `lane` is 32 bytes long, and the load
        // needs no alignment.
        unsafe { _mm256_loadu_si256(lane.as_ptr().cast()) }
    }

    #[inline(always)]
    fn splat(self, byte: u8) -> __m256i {
        // SAFETY: `self` proves that the processor has AVX2; so in all below.
        unsafe { _mm256_set1_epi8(byte as i8) }
    }

    binary_operations! {
        equal = _mm256_cmpeq_epi8,
        and = _mm256_and_si256,
        or = _mm256_or_si256,
        add = _mm256_add_epi8,
        sub = _mm256_sub_epi8,
    }

    #[inline(always)]
    fn and_not(self, a: __m256i, b: __m256i) -> __m256i {
        // SAFETY: as above.
        unsafe { _mm256_andnot_si256(b, a) }
    }

    /// As for SSSE3: one comparison with the byte of [`slots`].
    #[inline(always)]
    fn specials(self, bytes: __m256i) -> __m256i {
        // SAFETY: as above.
        unsafe {
            let slots = _mm256_broadcastsi128_si256(slots());
            let clamped = _mm256_min_epu8(bytes, _mm256_set1_epi8(LAST_SLOT));
            _mm256_cmpeq_epi8(bytes, _mm256_shuffle_epi8(slots, clamped))
        }
    }

    #[inline(always)]
    fn any(self, compared: __m256i) -> bool {
        // SAFETY: as above.
        unsafe { _mm256_movemask_epi8(compared) != 0 }
    }

    #[inline(always)]
    fn mask(self, compared: [__m256i; LANES]) -> u64 {
        let mut mask = 0;
        for (lane, compared) in compared.into_iter().enumerate() {
            // SAFETY: as above.
            let lane_mask = unsafe { _mm256_movemask_epi8(compared) };
            mask |= u64::from(lane_mask as u32) << (lane * LANE);
        }
        mask
    }

    #[inline(always)]
    fn compress(self, bytes: __m256i, stay: u64, room: &mut Room, mut at: usize) -> usize {
        // SAFETY: as above.
        let halves = unsafe { [_mm256_castsi256_si128(bytes), _mm256_extracti128_si256(bytes, 1)] };
        for (half, bytes) in halves.into_iter().enumerate() {
            let stay = (stay >> (half * HALF)) as u16;
            let places = &WIDE[usize::from(stay & 0x7fff)];
            let room: &mut [u8; HALF] = room[at..].first_chunk_mut().expect(FITS);
            // SAFETY: as above. `places` and `room` are 16 bytes long, and neither the load nor the
            // store needs an alignment.
            unsafe {
                let places = _mm_loadu_si128(places.as_ptr().cast());
                _mm_storeu_si128(room.as_mut_ptr().cast(), _mm_shuffle_epi8(bytes, places));
            }
            at += stay.count_ones() as usize;
        }
        at
    }
}

const HALF: usize = 16;
const LANE: usize = 32;
const LANES: usize = BLOCK / LANE;
