//! FNV-1a hashes of texts, the same on every machine and in every version.
//!
//! They do not resist deliberate collisions, so no security decision may depend on them.

pub fn fnv32(bytes: impl IntoIterator<Item = u8>) -> u32 {
    let add = |hash: u32, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    bytes.into_iter().fold(0x811c_9dc5, add)
}

pub fn fnv64(bytes: impl IntoIterator<Item = u8>) -> u64 {
    let add = |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.into_iter().fold(0xcbf2_9ce4_8422_2325, add)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_test_vectors_match() {
        for (text, short, long) in [
            ("", 0x811c_9dc5, 0xcbf2_9ce4_8422_2325),
            ("a", 0xe40c_292c, 0xaf63_dc4c_8601_ec8c),
            ("foobar", 0xbf9c_f968, 0x8594_4171_f739_67e8),
        ] {
            assert_eq!((fnv32(text.bytes()), fnv64(text.bytes())), (short, long), "{text}");
        }
    }
}
