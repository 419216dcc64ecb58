//! Writes decoded articles to files, finishes the files and moves finished jobs to their destination.
//!
//! Decoded bytes go straight to their offset in `0007.part`; a file gets its own name only when it is
//! complete, and a job is moved to the destination only when all its files are. Names come from NZBs, which
//! are not trusted, and other users may write to the directories; so every operation starts at the handle
//! of a directory and follows no symbolic link (see `Folder`), and nothing is created outside a job's
//! directory.
//!
//! Disks block, so [`Writer`] runs a few threads: [`Order`]s in, [`Done`] out. Some write to the page cache,
//! which is fast; others call `fsync`, which is not; and where a disk is nearly as fast as memory, others
//! write to it with direct I/O.

#![forbid(unsafe_code)]

mod error;
mod files;
mod threads;
mod writer;

pub use error::{DiskError, Obstacle};
pub use files::job_dir::{Compared, JobDir, Piece, Sum};
pub use files::modes::Modes;
pub use files::part_file::PartFile;
pub use files::root::{Root, Space, free_space, space};
pub use writer::{Done, Order, Outcome, Settings, Task, Writer};
