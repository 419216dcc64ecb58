//! 64 bytes at once: the one algorithm of all vector kernels.
//!
//! Nearly everything that makes a byte special can be seen from the byte before it: behind `=` it is
//! escaped, behind LF it starts a line. So a block is loaded twice, once a byte early, and compared
//! with itself: no state has to be carried from block to block, and a block depends on the one
//! before it only by where its output goes.
//!
//! - *Gaps*, the bytes that vanish, are `=`, CR and LF, unless behind `=`.
//! - Bytes behind `=` are lowered by a further 64.
//! - Then the gaps are squeezed out and the rest is stored.
//!
//! This holds for every block without *oddities*: `=` or a dot behind LF, which may be the end or a
//! control line, and `=` behind `=`, which may or may not escape. A block that may have some is
//! looked at more closely. Most prove harmless by the byte behind them, also a dot that only has to
//! vanish; in front of the first other one the block is cut, and scalar steps go on from there.

use super::scalar::Run;
use super::{LineState, Stop};

/// How one vector unit handles a block.
///
/// In each mask bit n stands for byte n of the block.
pub(super) trait Vector: Copy {
    /// A block and its bytes' predecessors, in registers.
    type Block: Copy;

    fn load(self, window: &Window) -> Self::Block;

    /// Bytes that vanish: `=`, CR and LF where no `=` is before them.
    fn gaps(self, block: Self::Block) -> u64;

    /// Whether there may be oddities. This is asked of every block; a rare false alarm does no harm.
    fn is_suspect(self, block: Self::Block) -> bool;

    /// `=` or a dot behind LF, and `=` behind `=`. Asked rarely: it loads the block again, so that
    /// nothing has to be kept for its sake.
    fn oddities(self, window: &Window) -> u64;

    /// Lowers all bytes and stores those that `stay` one behind the other, from the start of `room`.
    /// The rest of `room` may become anything.
    fn put(self, block: Self::Block, stay: u64, room: &mut Room);
}

/// Defines `until_stop` for a proof that the processor has these features: the loop over all blocks,
/// with the features enabled for everything that is inlined into it.
macro_rules! block_loop {
    ($proof:ident, $features:literal) => {
        impl $proof {
            pub(super) fn until_stop(
                self,
                run: &mut $crate::yenc::scalar::Run<'_>,
            ) -> $crate::yenc::Stop {
                // SAFETY: `self` proves that the processor has the features.
                unsafe { until_stop(self, run) }
            }
        }

        #[target_feature(enable = $features)]
        fn until_stop(
            proof: $proof,
            run: &mut $crate::yenc::scalar::Run<'_>,
        ) -> $crate::yenc::Stop {
            $crate::yenc::blocks::until_stop(proof, run)
        }
    };
}
pub(super) use block_loop;

/// The bytes of a block behind the one that precedes them.
pub(super) type Window = [u8; 1 + BLOCK];
/// No block gives more bytes than it has; stores of whole vectors stay within this, too.
pub(super) type Room = [u8; BLOCK];

pub(super) const BLOCK: usize = 64;

/// Has to be inlined into a function that has the features of `V` enabled.
#[inline(always)]
pub(super) fn until_stop<V: Vector>(vector: V, run: &mut Run<'_>) -> Stop {
    loop {
        let mut steps = 1;
        if is_plain(run) {
            if whole_blocks(vector, run) {
                part_block(vector, run);
            }
            run.state = state_behind(run.src[run.read - 1]);
            steps = STEPS;
        }
        for _ in 0..steps {
            if let Some(stop) = run.step() {
                return stop;
            }
        }
    }
}

/// Whether the byte before tells all about the next one. Not so where no byte is before it, where
/// the line has begun by a dot or by `=`, and behind a `=` that is itself escaped.
fn is_plain(run: &Run<'_>) -> bool {
    run.src[..run.read].last().is_some_and(|&before| run.state == state_behind(before))
}

/// Takes blocks until either buffer holds less than one; false if one had to be cut before.
#[inline(always)]
fn whole_blocks<V: Vector>(vector: V, run: &mut Run<'_>) -> bool {
    while let Some((window, room)) = next_block(run) {
        let (length, written) = take(vector, window, BLOCK, room);
        run.read += length;
        run.written += written;
        if length < BLOCK {
            return false;
        }
    }
    true
}

#[inline(always)]
fn next_block<'a>(run: &'a mut Run<'_>) -> Option<(&'a Window, &'a mut Room)> {
    let window = run.src.get(run.read - 1..)?.first_chunk()?;
    let room = run.dst.get_mut(run.written..)?.first_chunk_mut()?;
    Some((window, room))
}

/// Takes what is left where either buffer holds less than a block, by way of a whole one beside it;
/// unless there is no room for all that this gives.
#[inline(always)]
fn part_block<V: Vector>(vector: V, run: &mut Run<'_>) {
    let rest = &run.src[run.read - 1..];
    let length = rest.len().min(BLOCK + 1) - 1;
    if length == 0 {
        return;
    }
    let (mut window, mut room) = ([0; _], [0; _]);
    window[..=length].copy_from_slice(&rest[..=length]);
    let (length, written) = take(vector, &window, length, &mut room);
    if let Some(free) = run.dst.get_mut(run.written..run.written + written) {
        free.copy_from_slice(&room[..written]);
        run.read += length;
        run.written += written;
    }
}

/// Decodes a block that has `length` bytes, the rest of it being zeros; gives how many of them may
/// be taken, and how many bytes those are in `room`.
#[inline(always)]
fn take<V: Vector>(
    vector: V,
    window: &Window,
    mut length: usize,
    room: &mut Room,
) -> (usize, usize) {
    let block = vector.load(window);
    let mut gaps = vector.gaps(block);
    if vector.is_suspect(block) {
        (gaps, length) = inspected(&window[..=length], gaps, vector.oddities(window));
    }
    vector.put(block, !gaps, room);
    (length, (!gaps & first(length)).count_ones() as usize)
}

/// The gaps with those dots that only vanish, and how much of the block may be taken.
#[cold]
#[inline(never)]
fn inspected(window: &[u8], mut gaps: u64, mut oddities: u64) -> (u64, usize) {
    while oddities != 0 {
        let at = oddities.trailing_zeros() as usize;
        oddities &= oddities - 1;
        let [before, byte] = [window[at], window[at + 1]];
        match (before, byte, window.get(at + 2)) {
            (b'\n', b'=', Some(next)) if !b"y=".contains(next) => {}
            (b'\n', b'.', Some(next)) if !b"\r\n=".contains(next) => gaps |= 1 << at,
            _ => return (gaps, at),
        }
    }
    (gaps, window.len() - 1)
}

fn first(length: usize) -> u64 {
    if length < BLOCK { (1 << length) - 1 } else { u64::MAX }
}

/// The state as a block sees it. It is right behind every block that was taken: lines that begin by
/// a dot or by `=` and go on in the next one are cut off before that.
fn state_behind(byte: u8) -> LineState {
    match byte {
        b'\n' => LineState::Start,
        b'=' => LineState::Escape,
        _ => LineState::Middle,
    }
}

/// Scalar steps behind a cut. Good articles have few cuts, and hostile ones should not pay for a
/// block at every second byte.
const STEPS: usize = 32;

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// The contract in plain words, and a count of the blocks that were put.
    #[derive(Clone, Copy)]
    struct Plain<'a>(&'a Cell<usize>);

    impl Vector for Plain<'_> {
        type Block = Window;

        fn load(self, window: &Window) -> Window {
            *window
        }

        fn gaps(self, block: Window) -> u64 {
            mask(&block, |before, byte| before != b'=' && b"=\r\n".contains(&byte))
        }

        fn is_suspect(self, block: Window) -> bool {
            self.oddities(&block) != 0
        }

        fn oddities(self, window: &Window) -> u64 {
            mask(window, |before, byte| {
                matches!([before, byte], [b'\n', b'=' | b'.'] | [b'=', b'='])
            })
        }

        fn put(self, block: Window, stay: u64, room: &mut Room) {
            self.0.set(self.0.get() + 1);
            let lowered = block.windows(2).map(|pair| {
                let escape = if pair[0] == b'=' { 64 } else { 0 };
                pair[1].wrapping_sub(42).wrapping_sub(escape)
            });
            let data = lowered.enumerate().filter(|(place, _)| stay >> place & 1 == 1);
            for (room, (_, byte)) in room.iter_mut().zip(data) {
                *room = byte;
            }
        }
    }

    fn mask(window: &Window, is_set: impl Fn(u8, u8) -> bool) -> u64 {
        let bits = window.windows(2).map(|pair| u64::from(is_set(pair[0], pair[1])));
        bits.enumerate().fold(0, |mask, (place, bit)| mask | bit << place)
    }

    /// Decodes and gives the number of blocks, after comparing with the scalar twin.
    fn blocks_of(src: &[u8]) -> usize {
        let mut buffers = [vec![0; src.len()], vec![0; src.len()]];
        let [expected, dst] = &mut buffers;
        let mut twin = Run::new(LineState::Start, src, expected);
        let mut run = Run::new(LineState::Start, src, dst);
        let count = Cell::new(0);
        assert_eq!(until_stop(Plain(&count), &mut run), twin.until_stop());
        assert_eq!((run.read, run.written, run.state), (twin.read, twin.written, twin.state));
        let written = run.written;
        assert_eq!(buffers[0][..written], buffers[1][..written]);
        count.get()
    }

    #[test]
    fn lines_escapes_and_stuffed_dots_do_not_leave_the_blocks() {
        for line in ["..ab", "=}ab", "=Ja=Mb", "ab", ".a.b", "=.a."] {
            let src = format!("{line}{}\r\n", "z".repeat(61)).repeat(1_000);
            // Lines begin at every place of a block in turn. Where one begins at the last place the
            // block is cut, and steps follow, so that there may be a few more or fewer.
            let expected = src.len() / BLOCK;
            let blocks = blocks_of(src.as_bytes());
            assert!(blocks.abs_diff(expected) < expected / 32, "{line}: {blocks}, not {expected}");
        }
    }

    #[test]
    fn the_last_bytes_are_a_block_too() {
        for length in 2..=200_usize {
            assert_eq!(blocks_of(&vec![b'z'; length]), (length - 1).div_ceil(BLOCK));
        }
    }

    #[test]
    fn a_cut_costs_one_block_and_a_few_steps() {
        let src = format!("{}=={}", "z".repeat(40), "z".repeat(STEPS - 1 + BLOCK));
        assert_eq!(blocks_of(src.as_bytes()), 2);
    }
}
