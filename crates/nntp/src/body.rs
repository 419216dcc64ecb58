//! [`BodySink`]: the consumer of body bytes.

use crate::request::RequestId;

/// Takes the bodies of one connection.
///
/// The decoder of a body looks at every byte anyway, so it also finds the end of it: there is no
/// second pass over the bytes and no copy of them in the machine.
pub trait BodySink {
    /// The body of `request` begins with the next byte, at the start of a line.
    fn begin(&mut self, request: RequestId);

    /// Whether there is room for the body that has begun; until there is, its bytes stay with the
    /// caller of the machine.
    fn has_room(&self) -> bool {
        true
    }

    /// Takes bytes as they came from the wire, dots still stuffed.
    ///
    /// Unless the body ended, all of them must be consumed.
    fn body(&mut self, bytes: &[u8]) -> BodyStep;
}

/// What a [`BodySink`] made of some bytes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct BodyStep {
    /// Bytes that belonged to the body, the terminating line included.
    pub consumed: usize,
    /// Decoded bytes that came of them.
    pub written: usize,
    /// The terminating line has been consumed.
    pub ended: bool,
}
