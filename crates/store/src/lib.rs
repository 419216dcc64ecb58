//! The files of the state directory: [`Spool`], [`Journal`] and the state files.
//!
//! Each job is two files, the NZB as received and a small checksummed record (`bergamot_jobs::Record`), and a
//! third once articles arrive: the journal. A job is accepted when both are on disk under their names; before
//! that it is not acknowledged. Everything else can be rebuilt from the spool.
//!
//! - [`Spool`]: the directory, locked for one daemon; [`Directory`]: the file operations it needs;
//!   [`encode_record`]: the text of a record
//! - [`Journal`]: which articles are in a job's files; [`Replay`]: which of its entries still count
//! - [`UsageFile`], [`VolumesFile`], [`SettingsFile`]: the use of the quotas, the bytes from each server, and
//!   the settings changed at run time, each beside the spool; [`KnownMounts`]: the disks of the configured
//!   directories

#![forbid(unsafe_code)]

mod disk;
mod error;
mod journal;
mod record_file;
mod spool;
mod state;
mod version1;

pub use disk::directory::{Directory, Folder};
pub use error::StoreError;
pub use journal::frame::BootId;
pub use journal::{Entry, Finished, Journal, Mark as JournalMark, Replay};
pub use record_file::encode as encode_record;
pub use spool::checksummed_nzb::NzbReader;
pub use spool::{Addition, Spool, SpoolContents};
pub use state::known_mounts::KnownMounts;
pub use state::runtime_settings::{Pause, RuntimeSettings};
pub use state::state_file::{Kept, StateFile, StateFileError};
pub use state::usage::{Usage, Used, UsedDay};
pub use state::volumes::ServerVolumes;

pub type SettingsFile = StateFile<RuntimeSettings>;
pub type UsageFile = StateFile<Usage>;
pub type VolumesFile = StateFile<ServerVolumes>;
