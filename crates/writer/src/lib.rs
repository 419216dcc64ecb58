//! Articles to files: place, flush, finish, move.
//!
//! Decoded bytes go straight to their place in `0007.part`; a file gets its own name only when it
//! is complete, and a job its place in the destination only when all its files are. Names come from
//! strangers and directories may be shared with them, so every operation starts at the handle of a
//! directory and follows no link (see `Folder`); nothing is ever made outside a job's directory.
//!
//! Disks block, so [`Writer`] puts a few threads in front: orders in, [`Done`] out. Some write to the
//! page cache, which is quick; others wait until the disk has it, which is not; and where a disk is
//! nearly as quick as memory, others again write to it past the page cache.

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
