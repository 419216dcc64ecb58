//! [`SplitMix`]: a seeded random number generator.

/// SplitMix64: small, and good enough to keep things from marching in step.
#[derive(Clone, Debug)]
pub struct SplitMix(u64);

impl SplitMix {
    pub fn seeded(seed: u64) -> Self {
        Self(seed)
    }

    /// A number from 0 to `most`, both included.
    pub fn up_to(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        // The high half of the product is evenly spread, where a remainder would not be.
        ((u128::from(mixed) * (u128::from(most) + 1)) >> 64) as u64
    }
}
