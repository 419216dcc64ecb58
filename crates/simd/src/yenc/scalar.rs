//! The rules a byte at a time: the twin that says what is right.

use super::{ESCAPE_SHIFT, LineState, SHIFT, Stop};

/// One call in progress. The kernels move `read`, `written` and `state` together.
pub(super) struct Run<'a> {
    pub(super) src: &'a [u8],
    pub(super) dst: &'a mut [u8],
    pub(super) read: usize,
    pub(super) written: usize,
    pub(super) state: LineState,
}

impl<'a> Run<'a> {
    pub(super) fn new(state: LineState, src: &'a [u8], dst: &'a mut [u8]) -> Self {
        Self { src, dst, read: 0, written: 0, state }
    }

    pub(super) fn until_stop(&mut self) -> Stop {
        loop {
            if let Some(stop) = self.step() {
                return stop;
            }
        }
    }

    /// Takes the next byte, unless there is none or it finds no room.
    #[inline]
    pub(super) fn step(&mut self) -> Option<Stop> {
        let Some(&byte) = self.src.get(self.read) else { return Some(Stop::Input) };
        let step = Step::of(self.state, byte);
        if let Some(data) = step.data {
            let Some(room) = self.dst.get_mut(self.written) else { return Some(Stop::Output) };
            *room = data;
            self.written += 1;
        }
        self.read += 1;
        self.state = step.next;
        step.stop
    }
}

/// What one byte means where it stands.
struct Step {
    data: Option<u8>,
    next: LineState,
    stop: Option<Stop>,
}

impl Step {
    fn of(state: LineState, byte: u8) -> Self {
        match (state, byte) {
            (LineState::Escape | LineState::Equals, b'\n') => Self::data(escaped(byte)).at_start(),
            (LineState::Equals, b'y') => Self::stop(Stop::Control),
            (LineState::Escape | LineState::Equals, _) => Self::data(escaped(byte)),
            (LineState::Dot | LineState::DotCr, b'\n') => Self::stop(Stop::End),
            (LineState::Dot, b'\r') => Self::to(LineState::DotCr),
            (LineState::Start, b'.') => Self::to(LineState::Dot),
            (LineState::Start | LineState::Dot, b'=') => Self::to(LineState::Equals),
            (_, b'\r') => Self::to(LineState::Middle),
            (_, b'\n') => Self::to(LineState::Start),
            (_, b'=') => Self::to(LineState::Escape),
            _ => Self::data(byte.wrapping_sub(SHIFT)),
        }
    }

    fn data(data: u8) -> Self {
        Self { data: Some(data), next: LineState::Middle, stop: None }
    }

    fn to(next: LineState) -> Self {
        Self { data: None, next, stop: None }
    }

    fn stop(stop: Stop) -> Self {
        Self { data: None, next: LineState::Start, stop: Some(stop) }
    }

    fn at_start(self) -> Self {
        Self { next: LineState::Start, ..self }
    }
}

fn escaped(byte: u8) -> u8 {
    byte.wrapping_sub(SHIFT).wrapping_sub(ESCAPE_SHIFT)
}
