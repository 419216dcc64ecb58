//! The threads of a [`Writer`](crate::Writer), their work queues, and how fast each disk was measured to be.

pub(crate) mod direct_io;
pub(crate) mod disk_speed;
pub(crate) mod move_threads;
pub(crate) mod part_cache;
pub(crate) mod sync_thread;
pub(crate) mod work_queue;
pub(crate) mod write_thread;
