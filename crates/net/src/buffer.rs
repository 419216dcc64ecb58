//! Memory for decoded articles.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

/// Buffers that have been used and will be again.
///
/// Memory touched for the first time costs more than decoding into it, so a few warm buffers go
/// round. How much is lent out, the engine's budget bounds; what lies idle here only fills up what
/// that leaves, and goes when articles of another size need the room.
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
#[derive(Debug)]
pub struct Buffer {
    memory: Vec<u8>,
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
        let known = self.idle().take(room);
        let memory = known.unwrap_or_else(|| vec![0; room]);
        Buffer { memory, length: 0, pool: self.clone() }
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Idle> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Idle {
    /// The one used last that is large enough, and hardly larger: the budget counts only `room`.
    fn take(&mut self, room: usize) -> Option<Vec<u8>> {
        let fits = |memory: &Vec<u8>| (room..=room + room / 8).contains(&memory.len());
        let found = self.buffers.iter().rposition(fits);
        let memory = found.and_then(|found| self.buffers.remove(found));
        let length = memory.as_ref().map_or(room, Vec::len);
        self.bytes -= memory.as_ref().map_or(0, Vec::len);
        self.lent += length;
        while self.bytes + self.lent > self.most_bytes
            && let Some(oldest) = self.buffers.pop_front()
        {
            self.bytes -= oldest.len();
        }
        memory
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
        &mut self.memory[self.length..]
    }

    pub(crate) fn free(&self) -> usize {
        self.memory.len() - self.length
    }

    pub(crate) fn filled(&mut self, bytes: usize) {
        self.length += bytes;
    }
}

impl AsRef<[u8]> for Buffer {
    fn as_ref(&self) -> &[u8] {
        &self.memory[..self.length]
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        let memory = std::mem::take(&mut self.memory);
        self.pool.idle().keep(memory);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_goes_round_within_its_bound() {
        let pool = BufferPool::new(1000);
        let mut first = pool.lend(600);
        first.room()[0] = 7;
        first.filled(1);
        assert_eq!(first.as_ref(), [7]);
        let place = first.memory.as_ptr();
        let second = pool.lend(600);
        drop(second);
        assert_eq!(pool.idle().bytes, 0, "there is no room for two");
        drop(first);
        let again = pool.lend(550);
        assert_eq!((again.memory.as_ptr(), again.as_ref()), (place, &[][..]));
        drop(again);
        assert_ne!(pool.lend(100).memory.len(), 600, "a small one does not take a large one");
    }

    #[test]
    fn what_lies_idle_makes_way_for_articles_of_another_size() {
        let pool = BufferPool::new(1000);
        let small: Vec<_> = (0..10).map(|_| pool.lend(100)).collect();
        drop(small);
        assert_eq!(pool.idle().bytes, 1000);
        let large = pool.lend(750);
        assert_eq!(pool.idle().bytes, 200);
        drop(large);
        assert_eq!(pool.idle().bytes, 950);
    }
}
