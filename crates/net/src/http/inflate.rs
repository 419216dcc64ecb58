//! Decompression of gzip bodies, bounded in size.

use std::io::Write;

use flate2::write::MultiGzDecoder;

/// A body while it is received, decompressed within its bound.
#[derive(Debug)]
pub(super) enum Body {
    Gzip(Box<MultiGzDecoder<Bounded>>),
    Plain(Bounded),
}

/// Why a body is not decompressed any further.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum InflateError {
    Damaged,
    TooLarge,
}

impl Body {
    pub(super) fn plain(most: usize) -> Self {
        Self::Plain(Bounded::new(most))
    }

    pub(super) fn gzip(most: usize) -> Self {
        Self::Gzip(Box::new(MultiGzDecoder::new(Bounded::new(most))))
    }

    pub(super) fn take(&mut self, bytes: &[u8]) -> Result<(), InflateError> {
        let written = match self {
            Self::Gzip(decoder) => decoder.write_all(bytes),
            Self::Plain(bounded) => bounded.write_all(bytes),
        };
        written.map_err(|_| self.inflate_error())
    }

    pub(super) fn finish(self) -> Result<Vec<u8>, InflateError> {
        match self {
            Self::Plain(bounded) => Ok(bounded.bytes),
            Self::Gzip(mut decoder) => {
                let is_whole = decoder.try_finish().is_ok();
                let bounded = decoder.get_mut();
                match (bounded.is_over, is_whole) {
                    (true, _) => Err(InflateError::TooLarge),
                    (false, false) => Err(InflateError::Damaged),
                    (false, true) => Ok(std::mem::take(&mut bounded.bytes)),
                }
            }
        }
    }

    fn inflate_error(&self) -> InflateError {
        let bounded = match self {
            Self::Gzip(decoder) => decoder.get_ref(),
            Self::Plain(bounded) => bounded,
        };
        if bounded.is_over { InflateError::TooLarge } else { InflateError::Damaged }
    }
}

/// Takes up to `most` bytes and remembers when there were more.
#[derive(Debug)]
pub(super) struct Bounded {
    bytes: Vec<u8>,
    most: usize,
    is_over: bool,
}

impl Bounded {
    fn new(most: usize) -> Self {
        Self { bytes: Vec::new(), most, is_over: false }
    }
}

impl Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if bytes.len() > self.most - self.bytes.len() {
            self.is_over = true;
            return Err(std::io::ErrorKind::FileTooLarge.into());
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    fn gzipped(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn inflated(bytes: &[u8], most: usize, cut: usize) -> Result<Vec<u8>, InflateError> {
        let mut body = Body::gzip(most);
        bytes.chunks(cut).try_for_each(|chunk| body.take(chunk))?;
        body.finish()
    }

    #[test]
    fn any_cut_gives_the_same_bytes() {
        let text = b"hello, hello, hello".repeat(20);
        let packed = [gzipped(&text), gzipped(b"again")].concat();
        let wanted = [text.as_slice(), b"again"].concat();
        for cut in [1, 7, 10_000] {
            assert_eq!(inflated(&packed, wanted.len(), cut).unwrap(), wanted);
        }
    }

    #[test]
    fn a_bomb_stops_at_the_bound_and_a_part_is_not_taken_for_the_whole() {
        let bomb = gzipped(&vec![0; 8 << 20]);
        assert_eq!(inflated(&bomb, 1 << 20, 512), Err(InflateError::TooLarge));
        let packed = gzipped(b"hello, world");
        for end in 1..packed.len() {
            assert_eq!(inflated(&packed[..end], 100, 5), Err(InflateError::Damaged), "{end}");
        }
        assert_eq!(inflated(b"<html>", 100, 6), Err(InflateError::Damaged));
    }
}
