//! The value types that all crates share: ids, names, amounts, secrets, hashes. Pure.
//!
//! Untrusted text and numbers are parsed into these types once, where they enter the program; after that the
//! type guarantees that the value is valid. There is little behaviour here, and no I/O, clock or life cycle.

#![forbid(unsafe_code)]

mod amount;
mod disk;
mod fnv;
mod ids;
mod news;
mod printable;
mod secret;
mod split_mix;
mod unix_time;
mod url;

pub use amount::{ByteCount, ByteRate, InvalidAmount};
pub use disk::disk_trouble::DiskTrouble;
pub use disk::file_status::{FileIdentity, FileStatus};
pub use disk::safe_name::SafeName;
pub use fnv::{fnv32, fnv64};
pub use ids::{JobId, ServerId};
pub use news::article_range::ArticleRange;
pub use news::group_name::{GroupName, InvalidGroupName};
pub use news::message_id::{InvalidMessageId, MessageId};
pub use news::message_id_list::MessageIdList;
pub use news::patience::Patience;
pub use printable::Shown;
pub use secret::Secret;
pub use split_mix::SplitMix;
pub use unix_time::UnixTime;
pub use url::{InvalidUrl, Login, Scheme, Url, percent_decode};
