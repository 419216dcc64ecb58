//! [`PlainSink`]: a body sink that only removes dot-stuffing. Pure.

use bergamot_nntp::{BodySink, BodyStep, RequestId};

/// Collects bodies as text. Slow and simple on purpose: it shares no code with the real decoder.
#[derive(Debug, Default)]
pub struct PlainSink {
    body: Vec<u8>,
    line: Vec<u8>,
}

impl PlainSink {
    /// The body so far, and an empty sink again.
    pub fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.body)
    }
}

impl BodySink for PlainSink {
    fn begin(&mut self, _: RequestId) {
        self.body.clear();
        self.line.clear();
    }

    fn body(&mut self, bytes: &[u8]) -> BodyStep {
        let before = self.body.len();
        for (index, &byte) in bytes.iter().enumerate() {
            self.line.push(byte);
            if byte != b'\n' {
                continue;
            }
            if self.line == b".\r\n" || self.line == b".\n" {
                let written = self.body.len() - before;
                return BodyStep { consumed: index + 1, written, ended: true };
            }
            let line = std::mem::take(&mut self.line);
            self.body.extend_from_slice(line.strip_prefix(b".").unwrap_or(&line));
        }
        BodyStep { consumed: bytes.len(), written: self.body.len() - before, ended: false }
    }
}
