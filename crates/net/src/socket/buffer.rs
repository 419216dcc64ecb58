//! [`BufferPool`]: reusable memory for decoded articles, shared by all connections and the writer.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

/// Buffers that have been used and will be again.
///
/// Memory touched for the first time costs more than decoding into it, so a few warm buffers go round. The
/// buffers in use are bounded by the engine's budget; idle ones only use the rest of it, and are freed when
/// articles of another size need the memory.
#[derive(Clone, Debug)]
pub struct BufferPool {
    idle: Arc<Mutex<Idle>>,
}

#[derive(Debug)]
struct Idle {
    buffers: VecDeque<Vec<u8>>, // the one used last at the back
    bytes: usize,
    lent: usize,
    most_bytes: usize,
}

/// One decoded article. Its memory goes back to the pool when it is dropped.
///
/// A large one begins with a page, so that the disk can take it from there without a copy.
#[derive(Debug)]
pub struct Buffer {
    memory: Vec<u8>,
    start: usize,
    length: usize,
    pool: BufferPool,
}

impl BufferPool {
    /// Keeps nothing for later that would make more than `most_bytes` with what is lent.
    pub fn new(most_bytes: usize) -> Self {
        let idle = Idle { buffers: VecDeque::new(), bytes: 0, lent: 0, most_bytes };
        Self { idle: Arc::new(Mutex::new(idle)) }
    }

    /// An empty buffer with room for `room` bytes.
    pub fn lend(&self, room: usize) -> Buffer {
        // Articles of one post differ by some bytes; their buffers must not.
        let before = if room >= ALIGNED_FROM { PAGE } else { 0 };
        let size = room.next_multiple_of(PAGE) + before;
        let known = self.idle().take(size);
        let memory = known.unwrap_or_else(|| vec![0; size]);
        let start = memory.as_ptr().align_offset(PAGE).min(before);
        Buffer { memory, start, length: 0, pool: self.clone() }
    }

    /// Frees the idle buffers.
    pub fn clear(&self) {
        let dropped = self.idle().clear();
        drop(dropped); // outside the lock
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Idle> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Idle {
    /// The one used last that is large enough, and hardly larger: the budget counts no more.
    fn take(&mut self, size: usize) -> Option<Vec<u8>> {
        let fits = |memory: &Vec<u8>| (size..=size + size / 8).contains(&memory.len());
        let found = self.buffers.iter().rposition(fits);
        let memory = found.and_then(|found| self.buffers.remove(found));
        let length = memory.as_ref().map_or(size, Vec::len);
        self.bytes -= memory.as_ref().map_or(0, Vec::len);
        self.lent += length;
        while self.bytes + self.lent > self.most_bytes
            && let Some(oldest) = self.buffers.pop_front()
        {
            self.bytes -= oldest.len();
        }
        memory
    }

    fn clear(&mut self) -> VecDeque<Vec<u8>> {
        self.bytes = 0;
        std::mem::take(&mut self.buffers)
    }

    fn keep(&mut self, memory: Vec<u8>) {
        self.lent -= memory.len();
        if self.bytes + self.lent + memory.len() <= self.most_bytes {
            self.bytes += memory.len();
            self.buffers.push_back(memory);
        }
    }
}

impl Buffer {
    /// The part that is not filled yet.
    pub(crate) fn room(&mut self) -> &mut [u8] {
        &mut self.memory[self.start + self.length..]
    }

    pub(crate) fn filled(&mut self, bytes: usize) {
        self.length += bytes;
    }
}

impl AsRef<[u8]> for Buffer {
    fn as_ref(&self) -> &[u8] {
        &self.memory[self.start..self.start + self.length]
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        let memory = std::mem::take(&mut self.memory);
        self.pool.idle().keep(memory);
    }
}

/// A page more for each is little of these, and not counted in the budget.
const ALIGNED_FROM: usize = 64 << 10;

/// What memory comes in.
const PAGE: usize = 4 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_goes_round_within_its_bound() {
        let pool = BufferPool::new(10 * PAGE);
        let mut first = pool.lend(6 * PAGE);
        first.room()[0] = 7;
        first.filled(1);
        assert_eq!(first.as_ref(), [7]);
        let place = first.memory.as_ptr();
        let second = pool.lend(6 * PAGE);
        drop(second);
        assert_eq!(pool.idle().bytes, 0, "there is no room for two");
        drop(first);
        let again = pool.lend(5 * PAGE + 1);
        assert_eq!((again.memory.as_ptr(), again.as_ref()), (place, &[][..]));
        drop(again);
        let small = pool.lend(PAGE);
        assert_ne!(small.memory.len(), 6 * PAGE, "a small one does not take a large one");
    }

    #[test]
    fn what_is_worth_it_begins_with_a_page() {
        let pool = BufferPool::new(1 << 20);
        for room in [ALIGNED_FROM, 739_840] {
            let mut buffer = pool.lend(room);
            assert_eq!(buffer.as_ref().as_ptr().align_offset(PAGE), 0);
            assert!(buffer.room().len() >= room);
        }
    }

    #[test]
    fn articles_that_differ_by_some_bytes_share_their_memory() {
        let pool = BufferPool::new(1 << 20);
        for room in [739_840, 739_961, 739_824, 740_100] {
            drop(pool.lend(room));
            assert_eq!(pool.idle().buffers.len(), 1);
        }
    }

    #[test]
    fn what_lies_idle_makes_way_for_articles_of_another_size() {
        let pool = BufferPool::new(20 * PAGE);
        let small: Vec<_> = (0..10).map(|_| pool.lend(2 * PAGE)).collect();
        drop(small);
        assert_eq!(pool.idle().bytes, 20 * PAGE);
        let large = pool.lend(15 * PAGE);
        assert_eq!(pool.idle().bytes, 4 * PAGE);
        drop(large);
        assert_eq!(pool.idle().bytes, 19 * PAGE);
        pool.clear();
        let idle = pool.idle();
        assert_eq!((idle.bytes, idle.buffers.len()), (0, 0));
    }
}
