//! Memory for decoded articles.

use std::sync::{Arc, Mutex, PoisonError};

/// Buffers that have been used and will be again.
///
/// Memory touched for the first time costs more than decoding into it, so a few warm buffers go
/// round. How much is lent out, the engine's budget bounds; what lies idle here is bounded too.
#[derive(Clone, Debug)]
pub struct BufferPool {
    idle: Arc<Mutex<Idle>>,
}

#[derive(Debug)]
struct Idle {
    buffers: Vec<Vec<u8>>,
    bytes: usize,
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
    /// Keeps at most `most_bytes` for later.
    pub fn new(most_bytes: usize) -> Self {
        Self { idle: Arc::new(Mutex::new(Idle { buffers: Vec::new(), bytes: 0, most_bytes })) }
    }

    /// An empty buffer with room for `room` bytes.
    pub fn lend(&self, room: usize) -> Buffer {
        let memory = self.idle().take(room).unwrap_or_else(|| vec![0; room]);
        Buffer { memory, length: 0, pool: self.clone() }
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Idle> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Idle {
    /// The one used last that is large enough, and not so large that it wastes the budget.
    fn take(&mut self, room: usize) -> Option<Vec<u8>> {
        let fits = |memory: &Vec<u8>| memory.len() >= room && memory.len() / 2 <= room;
        let found = self.buffers.iter().rposition(fits)?;
        let memory = self.buffers.swap_remove(found);
        self.bytes -= memory.len();
        Some(memory)
    }

    fn keep(&mut self, memory: Vec<u8>) {
        if self.bytes + memory.len() <= self.most_bytes {
            self.bytes += memory.len();
            self.buffers.push(memory);
        }
    }
}

impl Buffer {
    /// The part that is not filled yet.
    pub(crate) fn room(&mut self) -> &mut [u8] {
        &mut self.memory[self.length..]
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
        drop(first);
        drop(second);
        assert_eq!(pool.idle().bytes, 600, "there is no room for two");
        let again = pool.lend(500);
        assert_eq!((again.memory.as_ptr(), again.as_ref()), (place, &[][..]));
        drop(again);
        assert_ne!(pool.lend(100).memory.len(), 600, "a small one does not take a large one");
    }
}
