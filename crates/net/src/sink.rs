//! [`Bodies`]: the body sink of a connection, which decodes articles into buffers of the pool.

use std::collections::{HashMap, VecDeque};

use bergamot_nntp::{BodySink, BodyStep, RequestId};
use bergamot_yenc::{Decoder, Outcome};

use crate::socket::buffer::{Buffer, BufferPool};

/// Decodes the bodies of one connection into buffers of the pool. A body that was not admitted yet has no
/// buffer, and stays in the socket.
#[derive(Debug)]
pub(crate) struct Bodies {
    pool: BufferPool,
    admitted: HashMap<RequestId, usize>,
    admitted_bytes: u64,
    decoder: Decoder,
    current: Option<Current>,
    finished: VecDeque<(Buffer, Outcome)>,
}

#[derive(Debug)]
struct Current {
    request: RequestId,
    received: u64,
    reserve: u64,
    buffer: Option<Buffer>,
}

impl Current {
    fn expected(&self) -> u64 {
        self.reserve.saturating_sub(self.received)
    }
}

impl Bodies {
    pub(crate) fn new(pool: BufferPool) -> Self {
        Self {
            pool,
            admitted: HashMap::new(),
            admitted_bytes: 0,
            decoder: Decoder::new(),
            current: None,
            finished: VecDeque::new(),
        }
    }

    /// Admits the body of this request with a buffer of this size, now or when it arrives.
    pub(crate) fn admit(&mut self, request: RequestId, reserve: usize) {
        match &mut self.current {
            Some(current) if current.request == request => {
                current.buffer = Some(self.pool.lend(reserve));
                current.reserve = reserve as u64;
            }
            _ => {
                self.forget(request);
                self.admitted.insert(request, reserve);
                self.admitted_bytes += reserve as u64;
            }
        }
    }

    /// No body will come for the request.
    pub(crate) fn forget(&mut self, request: RequestId) {
        self.take_admission(request);
    }

    /// How much may still come of bodies that have room; encoded they are hardly longer.
    pub(crate) fn expected(&self) -> u64 {
        let current = self.current.as_ref().map_or(0, Current::expected);
        current + self.admitted_bytes
    }

    fn take_admission(&mut self, request: RequestId) -> Option<usize> {
        let reserve = self.admitted.remove(&request);
        self.admitted_bytes -= reserve.unwrap_or(0) as u64;
        reserve
    }

    /// The oldest body that is complete and was not taken yet.
    pub(crate) fn take(&mut self) -> Option<(Buffer, Outcome)> {
        self.finished.pop_front()
    }

    /// A body has begun that was not admitted yet.
    pub(crate) fn is_blocked(&self) -> bool {
        self.current.as_ref().is_some_and(|current| current.buffer.is_none())
    }

    /// The body that is being received, and how many bytes of it have arrived.
    pub(crate) fn progress(&self) -> Option<(RequestId, u64)> {
        self.current.as_ref().map(|current| (current.request, current.received))
    }
}

impl BodySink for Bodies {
    fn begin(&mut self, request: RequestId) {
        let reserve = self.take_admission(request);
        let buffer = reserve.map(|reserve| self.pool.lend(reserve));
        let reserve = reserve.unwrap_or(0) as u64;
        self.current = Some(Current { request, received: 0, reserve, buffer });
    }

    fn has_room(&self) -> bool {
        !self.is_blocked()
    }

    fn body(&mut self, bytes: &[u8]) -> BodyStep {
        let Some(Current { received, buffer: Some(buffer), .. }) = &mut self.current else {
            return BodyStep { consumed: bytes.len(), written: 0, ended: false };
        };
        let step = self.decoder.decode(bytes, buffer.room());
        buffer.filled(step.written);
        *received += step.consumed as u64;
        if step.ended {
            let outcome = self.decoder.finish();
            let buffer = self.current.take().and_then(|current| current.buffer);
            self.finished.extend(buffer.map(|buffer| (buffer, outcome)));
        }
        BodyStep { consumed: step.consumed, written: step.written, ended: step.ended }
    }
}
