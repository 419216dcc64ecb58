//! The read buffer of each thread, shared by all sockets that are read on it.

use std::cell::RefCell;

thread_local! {
    static SCRATCH: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Lends the one read buffer of this thread.
///
/// Bytes are read, decrypted and decoded in one go, so none has to be kept and a few buffers
/// serve hundreds of connections; and the one of a thread is warm in its cache.
pub(crate) fn with_read_buffer<T>(act: impl FnOnce(&mut [u8]) -> T) -> T {
    SCRATCH.with_borrow_mut(|scratch| {
        scratch.resize(READ_BUFFER_SIZE, 0);
        act(scratch)
    })
}

/// Large enough that system calls do not matter, and small enough for the cache of one core.
pub const READ_BUFFER_SIZE: usize = 256 << 10;
