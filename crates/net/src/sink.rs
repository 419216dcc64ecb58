//! Where bodies are decoded.

use std::collections::{HashMap, VecDeque};

use bergamot_nntp::{BodySink, BodyStep, RequestId};
use bergamot_yenc::{Decoder, Outcome};

use crate::buffer::{Buffer, BufferPool};

/// Decodes the bodies of one connection into buffers of the pool.
#[derive(Debug)]
pub(crate) struct Bodies {
    pool: BufferPool,
    reserves: HashMap<RequestId, usize>,
    decoder: Decoder,
    current: Option<Buffer>,
    finished: VecDeque<(Buffer, Outcome)>,
}

impl Bodies {
    pub(crate) fn new(pool: BufferPool) -> Self {
        Self {
            pool,
            reserves: HashMap::new(),
            decoder: Decoder::new(),
            current: None,
            finished: VecDeque::new(),
        }
    }

    /// A body may come that has this much room.
    pub(crate) fn expect(&mut self, request: RequestId, reserve: usize) {
        self.reserves.insert(request, reserve);
    }

    /// No body will come for the request.
    pub(crate) fn forget(&mut self, request: RequestId) {
        self.reserves.remove(&request);
    }

    /// The oldest body that has come whole and was not taken yet.
    pub(crate) fn take(&mut self) -> Option<(Buffer, Outcome)> {
        self.finished.pop_front()
    }
}

impl BodySink for Bodies {
    fn begin(&mut self, request: RequestId) {
        let reserve = self.reserves.remove(&request).unwrap_or(0);
        self.current = Some(self.pool.lend(reserve));
    }

    fn body(&mut self, bytes: &[u8]) -> BodyStep {
        let Some(buffer) = &mut self.current else {
            return BodyStep { consumed: bytes.len(), written: 0, ended: false };
        };
        let step = self.decoder.decode(bytes, buffer.room());
        buffer.filled(step.written);
        if step.ended {
            let outcome = self.decoder.finish();
            self.finished.extend(self.current.take().map(|buffer| (buffer, outcome)));
        }
        BodyStep { consumed: step.consumed, written: step.written, ended: step.ended }
    }
}
