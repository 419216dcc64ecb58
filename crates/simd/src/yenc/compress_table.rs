//! How to squeeze bytes out of a vector that can only be shuffled.
//!
//! Eight bytes at a time want two tables of 2 KiB, sixteen at a time one of 512 KiB, for half as
//! many lookups and stores. Measured, that is worth 75 % to AVX2 and 5 % to SSSE3, which spends its
//! time elsewhere and lives in small processors. So only AVX2 has the large one. It is read from the
//! binary as needed, and good articles need little of it: few gaps make few patterns, some 10 KiB.

/// For each mask of the bytes that stay, out of eight: their places, in order. The lowest byte has
/// the first; those behind the last are any.
pub(super) static LOW: [u64; 256] = places_of_eight(0);
/// The same for the upper eight bytes of sixteen.
pub(super) static HIGH: [u64; 256] = places_of_eight(8);

/// The same for sixteen, by the lower fifteen bits of the mask: the last byte is always taken along,
/// and whether it counts is for the caller to say.
#[cfg(target_arch = "x86_64")]
pub(super) static WIDE: [[u8; 16]; 1 << 15] = places_of_sixteen();

const fn places_of_eight(base: u64) -> [u64; 256] {
    let mut table = [0; 256];
    let mut stay = 0;
    while stay < table.len() {
        let (mut place, mut count) = (0, 0);
        while place < 8 {
            if stay >> place & 1 == 1 {
                table[stay] |= (base + place) << (8 * count);
                count += 1;
            }
            place += 1;
        }
        stay += 1;
    }
    table
}

#[cfg(target_arch = "x86_64")]
#[allow(long_running_const_eval, reason = "half a million steps take the compiler a second")]
const fn places_of_sixteen() -> [[u8; 16]; 1 << 15] {
    let mut table = [[0; 16]; 1 << 15];
    let mut stay = 0;
    while stay < table.len() {
        let (mut place, mut count) = (0, 0);
        while place < 16 {
            if (stay | 1 << 15) >> place & 1 == 1 {
                table[stay][count] = place;
                count += 1;
            }
            place += 1;
        }
        stay += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_those_of_the_bytes_that_stay() {
        for stay in 0..LOW.len() {
            let expected: Vec<u8> = (0..8).filter(|place| stay >> place & 1 == 1).collect();
            let low = LOW[stay].to_le_bytes();
            let high = HIGH[stay].to_le_bytes().map(|place| place.wrapping_sub(8));
            assert_eq!(low[..expected.len()], expected, "{stay:08b}");
            assert_eq!(high[..expected.len()], expected, "{stay:08b}");
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn the_last_of_sixteen_is_taken_along() {
        for (stay, places) in WIDE.iter().enumerate() {
            let expected: Vec<u8> = (0..15).filter(|place| stay >> place & 1 == 1).collect();
            assert_eq!(places[..expected.len()], expected, "{stay:015b}");
            assert_eq!(places[expected.len()], 15, "{stay:015b}");
        }
    }
}
