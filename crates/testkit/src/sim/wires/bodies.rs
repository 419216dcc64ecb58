//! [`Bodies`]: decodes the bodies of one connection, as `net` does it. Pure.

use std::collections::{HashMap, VecDeque};

use bergamot_nntp::{BodySink, BodyStep, RequestId};
use bergamot_yenc::{Decoder, Outcome};

/// Decodes the bodies of one connection. One that was not admitted yet has no room.
#[derive(Debug, Default)]
pub(crate) struct Bodies {
    admitted: HashMap<RequestId, usize>, // only looked up
    decoder: Decoder,
    current: Option<Current>,
    finished: VecDeque<(Vec<u8>, Outcome)>,
}

#[derive(Debug)]
struct Current {
    request: RequestId,
    received: u64,
    room: Option<Room>,
}

#[derive(Debug)]
struct Room {
    bytes: Vec<u8>,
    filled: usize,
}

impl Room {
    fn new(reserve: usize) -> Self {
        Self { bytes: vec![0; reserve], filled: 0 }
    }
}

impl Bodies {
    pub(crate) fn admit(&mut self, request: RequestId, reserve: usize) {
        match &mut self.current {
            Some(current) if current.request == request => current.room = Some(Room::new(reserve)),
            _ => _ = self.admitted.insert(request, reserve),
        }
    }

    pub(crate) fn forget(&mut self, request: RequestId) {
        self.admitted.remove(&request);
    }

    pub(crate) fn take(&mut self) -> Option<(Vec<u8>, Outcome)> {
        self.finished.pop_front()
    }

    pub(crate) fn is_blocked(&self) -> bool {
        self.current.as_ref().is_some_and(|current| current.room.is_none())
    }

    pub(crate) fn progress(&self) -> Option<(RequestId, u64)> {
        self.current.as_ref().map(|current| (current.request, current.received))
    }
}

impl BodySink for Bodies {
    fn begin(&mut self, request: RequestId) {
        let room = self.admitted.remove(&request).map(Room::new);
        self.current = Some(Current { request, received: 0, room });
    }

    fn has_room(&self) -> bool {
        !self.is_blocked()
    }

    fn body(&mut self, bytes: &[u8]) -> BodyStep {
        let Some(Current { received, room: Some(room), .. }) = &mut self.current else {
            return BodyStep { consumed: bytes.len(), written: 0, ended: false };
        };
        let step = self.decoder.decode(bytes, &mut room.bytes[room.filled..]);
        room.filled += step.written;
        *received += step.consumed as u64;
        if step.ended {
            let outcome = self.decoder.finish();
            let room = self.current.take().and_then(|current| current.room);
            self.finished.extend(room.map(|mut room| {
                room.bytes.truncate(room.filled);
                (room.bytes, outcome)
            }));
        }
        BodyStep { consumed: step.consumed, written: step.written, ended: step.ended }
    }
}
