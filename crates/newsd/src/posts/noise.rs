//! [`Noise`]: pseudo-random bytes and choices from a seed.
//!
//! Everything here is a function of its arguments (SplitMix64, run on a counter), so one seed
//! gives one server, and any byte of a post can be made without making those before it.

/// A stream of pseudo-random bytes that can be entered anywhere.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Noise {
    key: u64,
}

impl Noise {
    pub(crate) fn new(seed: u64, stream: u64) -> Self {
        Self { key: mix(seed ^ mix(stream)) }
    }

    /// Fills `out` with the bytes that begin at `offset`.
    pub(crate) fn fill(&self, offset: u64, out: &mut [u8]) {
        let mut word = offset / WORD;
        let mut rest = out;
        let skipped = (offset % WORD) as usize;
        if skipped > 0 {
            let bytes = self.word(word);
            let length = rest.len().min(bytes.len() - skipped);
            let (head, tail) = rest.split_at_mut(length);
            head.copy_from_slice(&bytes[skipped..skipped + length]);
            (rest, word) = (tail, word + 1);
        }
        let mut words = rest.chunks_exact_mut(WORD as usize);
        for chunk in &mut words {
            chunk.copy_from_slice(&self.word(word));
            word += 1;
        }
        let tail = words.into_remainder();
        tail.copy_from_slice(&self.word(word)[..tail.len()]);
    }

    fn word(&self, index: u64) -> [u8; WORD as usize] {
        mix(self.key.wrapping_add(index.wrapping_mul(STEP))).to_le_bytes()
    }
}

/// A number that depends on every bit of the seed and the text.
pub(crate) fn hash(seed: u64, text: &str) -> u64 {
    text.bytes().fold(mix(seed), |state, byte| mix(state ^ u64::from(byte)))
}

/// Turns a hash into a number from 0 up to, not including, 1.
pub(crate) fn fraction(hash: u64) -> f64 {
    (hash >> 11) as f64 / (1_u64 << 53) as f64
}

pub(crate) fn mix(state: u64) -> u64 {
    let mut z = state.wrapping_add(STEP);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The golden ratio in 64 bits: steps by it visit every state.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
const WORD: u64 = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_reads_the_same_from_anywhere() {
        let noise = Noise::new(7, 1);
        let mut whole = [0; 100];
        noise.fill(0, &mut whole);
        for start in 0..40 {
            for length in 0..40 {
                let mut piece = vec![0; length];
                noise.fill(start as u64, &mut piece);
                assert_eq!(piece, whole[start..start + length], "{length} bytes from {start}");
            }
        }
    }

    #[test]
    fn streams_and_seeds_differ() {
        let first = |seed, stream| {
            let mut bytes = [0; 16];
            Noise::new(seed, stream).fill(0, &mut bytes);
            bytes
        };
        assert_ne!(first(1, 1), first(1, 2));
        assert_ne!(first(1, 1), first(2, 1));
        assert_ne!(hash(1, "a@x"), hash(1, "b@x"));
    }
}
