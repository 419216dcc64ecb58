//! The value types that all crates share: ids, names, amounts, secrets, hashes. Pure.
//!
//! Untrusted text and numbers are parsed into these types once, where they enter the program; after that the
//! type guarantees that the value is valid. There is little behaviour here, and no I/O, clock or life cycle.

#![forbid(unsafe_code)]

mod amount;
mod article_range;
mod disk_trouble;
mod file_status;
mod fnv;
mod group_name;
mod ids;
mod message_id;
mod message_id_list;
mod patience;
mod printable;
mod safe_name;
mod secret;
mod split_mix;
mod unix_time;
mod url;

pub use amount::{ByteCount, ByteRate, InvalidAmount};
pub use article_range::ArticleRange;
pub use disk_trouble::DiskTrouble;
pub use file_status::{FileIdentity, FileStatus};
pub use fnv::{fnv32, fnv64};
pub use group_name::{GroupName, InvalidGroupName};
pub use ids::{JobId, ServerId};
pub use message_id::{InvalidMessageId, MessageId};
pub use message_id_list::MessageIdList;
pub use patience::Patience;
pub use printable::Shown;
pub use safe_name::SafeName;
pub use secret::Secret;
pub use split_mix::SplitMix;
pub use unix_time::UnixTime;
pub use url::{InvalidUrl, Login, Scheme, Url, percent_decode};
