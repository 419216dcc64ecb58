//! Eight bytes in one general register, for processors whose vectors we do not use.

use super::scalar::Run;
use super::{LineState, SHIFT, Stop};

pub(super) fn until_stop(run: &mut Run<'_>) -> Stop {
    loop {
        if run.state == LineState::Middle {
            ordinary_blocks(run);
        }
        if let Some(stop) = run.step() {
            return stop;
        }
    }
}

/// Eight bytes at a time, up to the first that is special or the last eight of either buffer.
fn ordinary_blocks(run: &mut Run<'_>) {
    while let Some((block, room)) = next_block(run) {
        let specials = special_bytes(block);
        *room = lowered(block).to_le_bytes();
        let ordinary = (specials.trailing_zeros() / 8) as usize;
        run.read += ordinary;
        run.written += ordinary;
        if ordinary < BLOCK {
            return;
        }
    }
}

fn next_block<'a>(run: &'a mut Run<'_>) -> Option<(u64, &'a mut [u8; BLOCK])> {
    let block = run.src.get(run.read..)?.first_chunk()?;
    let room = run.dst.get_mut(run.written..)?.first_chunk_mut()?;
    Some((u64::from_le_bytes(*block), room))
}

/// The top bit of each byte of `block` that is `=`, CR or LF. Bits above the lowest may lie: a
/// borrow can run into the byte behind a true hit, so only the lowest one counts.
fn special_bytes(block: u64) -> u64 {
    zero_bytes(block ^ repeat(b'='))
        | zero_bytes(block ^ repeat(b'\r'))
        | zero_bytes(block ^ repeat(b'\n'))
}

fn zero_bytes(block: u64) -> u64 {
    block.wrapping_sub(repeat(0x01)) & !block & repeat(0x80)
}

/// Each byte lowered by 42 on its own: the top bits are kept out of the subtraction, so that no
/// borrow crosses a byte, and put right afterwards.
fn lowered(block: u64) -> u64 {
    let top = repeat(0x80);
    ((block | top) - repeat(SHIFT)) ^ (!block & top)
}

const fn repeat(byte: u8) -> u64 {
    u64::from_le_bytes([byte; BLOCK])
}

const BLOCK: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_lowered_on_its_own() {
        for byte in 0..=u8::MAX {
            let block = u64::from_le_bytes([byte, 0, 255, byte, 41, 42, 43, byte]);
            let expected = block.to_le_bytes().map(|b| b.wrapping_sub(42));
            assert_eq!(lowered(block).to_le_bytes(), expected, "{byte}");
        }
    }
}
