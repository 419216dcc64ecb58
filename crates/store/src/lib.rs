//! The spool, and what else outlives the process.
//!
//! Each job is two files, the NZB as it came and a small checksummed record (`bergamot_jobs::Record`), and
//! a third once articles arrive: the journal. A job is accepted when both are on disk under their names;
//! before that it is not acknowledged. Everything else can be rebuilt from the spool.
//!
//! - [`Spool`]: the directory, locked for one daemon; [`Directory`]: what it needs of a disk;
//!   [`encode_record`]: a record as it lies in there
//! - [`Journal`]: what lies in a job's files, as it is learnt; [`Replay`]: what of that still counts
//! - [`UsageFile`], [`VolumesFile`], [`SettingsFile`]: what is used of the quotas, what came from each
//!   server, and what was changed while the daemon ran, each beside the spool; [`KnownMounts`]: the disks
//!   of the configured directories

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
