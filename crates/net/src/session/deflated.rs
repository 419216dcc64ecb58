//! The layer of COMPRESS DEFLATE (RFC 8054) between the machine and its link.

use std::fmt;
use std::io;

use flate2::{Decompress, FlushDecompress, Status};

/// Expands what the server sends, a piece at a time: what a few bytes may grow to is never held.
pub(crate) struct Inflater {
    stream: Decompress,
}

impl Default for Inflater {
    fn default() -> Self {
        Self { stream: Decompress::new(false) }
    }
}

impl fmt::Debug for Inflater {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let grown = (self.stream.total_in(), self.stream.total_out());
        f.debug_struct("Inflater").field("grown", &grown).finish_non_exhaustive()
    }
}

impl Inflater {
    pub(crate) fn inflate(
        &mut self,
        mut bytes: &[u8],
        mut take: impl FnMut(&[u8]),
    ) -> io::Result<()> {
        let mut piece = [0; PIECE];
        loop {
            let (read, written) = (self.stream.total_in(), self.stream.total_out());
            let status = self.stream.decompress(bytes, &mut piece, FlushDecompress::None);
            let status =
                status.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
            bytes = &bytes[(self.stream.total_in() - read) as usize..];
            let length = (self.stream.total_out() - written) as usize;
            take(&piece[..length]);
            if status == Status::StreamEnd {
                // A conversation has no last block; the server may only close the connection.
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            if bytes.is_empty() && length < PIECE || status == Status::BufError {
                return Ok(());
            }
        }
    }
}

/// Writes `plain` as stored blocks (RFC 1951, section 3.2.4). Commands are too short to be worth a
/// compressor, which would want a quarter of a megabyte for each connection.
pub(crate) fn store(plain: &[u8], out: &mut Vec<u8>) {
    for block in plain.chunks(LONGEST_BLOCK) {
        let length = block.len() as u16;
        out.push(0); // not the last, stored, and the rest of the byte unused
        out.extend_from_slice(&length.to_le_bytes());
        out.extend_from_slice(&(!length).to_le_bytes());
        out.extend_from_slice(block);
    }
}

const PIECE: usize = 8 << 10;
const LONGEST_BLOCK: usize = u16::MAX as usize;

#[cfg(test)]
mod tests {
    use flate2::{Compress, Compression, FlushCompress};

    use super::*;

    fn inflated(inflater: &mut Inflater, wire: &[u8], chunk: usize) -> io::Result<Vec<u8>> {
        let mut plain = Vec::new();
        for piece in wire.chunks(chunk) {
            inflater.inflate(piece, |bytes| plain.extend_from_slice(bytes))?;
        }
        Ok(plain)
    }

    #[test]
    fn what_is_stored_can_be_read_back_at_once() {
        let mut inflater = Inflater::default();
        for length in [1, 6, 65_535, 65_536, 200_000] {
            let said: Vec<u8> = (0..length).map(|n: u32| (n % 251) as u8).collect();
            let mut wire = Vec::new();
            store(&said, &mut wire);
            assert!(inflated(&mut inflater, &wire, 1000).unwrap() == said, "{length}");
        }
        let mut wire = Vec::new();
        store(b"", &mut wire);
        assert!(wire.is_empty());
    }

    #[test]
    fn a_megabyte_of_nothing_comes_in_small_pieces_however_it_is_cut() {
        let said = vec![b'x'; 1 << 20];
        let mut wire = Vec::with_capacity(1 << 20);
        let mut deflate = Compress::new(Compression::best(), false);
        deflate.compress_vec(&said, &mut wire, FlushCompress::Sync).unwrap();
        assert!(wire.len() < 8 << 10);
        for chunk in [1, 7, wire.len()] {
            let mut inflater = Inflater::default();
            let (mut sum, mut most) = (0, 0);
            for piece in wire.chunks(chunk) {
                let add = |bytes: &[u8]| {
                    sum += bytes.len();
                    most = most.max(bytes.len());
                };
                inflater.inflate(piece, add).unwrap();
            }
            assert_eq!((sum, most <= PIECE), (said.len(), true));
        }
    }

    #[test]
    fn what_is_no_stream_or_ends_it_is_an_error() {
        assert!(inflated(&mut Inflater::default(), &[0xff; 40], 40).is_err());
        let mut wire = Vec::with_capacity(100);
        let mut deflate = Compress::new(Compression::fast(), false);
        deflate.compress_vec(b"bye", &mut wire, FlushCompress::Finish).unwrap();
        assert!(inflated(&mut Inflater::default(), &wire, wire.len()).is_err());
    }
}
