//! [`Compressed`]: the layer of COMPRESS DEFLATE (RFC 8054) below a session.

use std::io;

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress};

#[derive(Debug)]
pub(crate) struct Compressed {
    deflate: Compress,
    inflate: Decompress,
}

impl Compressed {
    pub(crate) fn new() -> Self {
        Self { deflate: Compress::new(Compression::fast(), false), inflate: Decompress::new(false) }
    }

    /// All of `bytes`, so that the reader can have all of them back at once.
    pub(crate) fn deflate(&mut self, mut bytes: &[u8]) -> io::Result<Vec<u8>> {
        let mut out = Vec::new();
        loop {
            out.reserve(ROOM);
            let before = self.deflate.total_in();
            let flush = FlushCompress::Sync;
            self.deflate.compress_vec(bytes, &mut out, flush).map_err(io::Error::other)?;
            bytes = &bytes[(self.deflate.total_in() - before) as usize..];
            if bytes.is_empty() && out.len() < out.capacity() {
                return Ok(out);
            }
        }
    }

    pub(crate) fn inflate(&mut self, mut bytes: &[u8]) -> io::Result<Vec<u8>> {
        let mut out = Vec::new();
        loop {
            out.reserve(ROOM);
            let before = self.inflate.total_in();
            let flush = FlushDecompress::Sync;
            self.inflate.decompress_vec(bytes, &mut out, flush).map_err(io::Error::other)?;
            bytes = &bytes[(self.inflate.total_in() - before) as usize..];
            if bytes.is_empty() && out.len() < out.capacity() {
                return Ok(out);
            }
        }
    }
}

const ROOM: usize = 4 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_said_so_far_can_be_read_back_at_every_moment() {
        let (mut near, mut far) = (Compressed::new(), Compressed::new());
        for length in [1, 10, 100_000, 3] {
            let said: Vec<u8> = (0..length).map(|n: u32| (n % 7) as u8).collect();
            let wire = near.deflate(&said).unwrap();
            assert_eq!(far.inflate(&wire).unwrap(), said);
        }
    }
}
