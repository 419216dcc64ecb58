//! XML of strangers: any encoding, every token bounded.
//!
//! NZBs and feeds come from the same indexers, with the same sins. What reads them stands on
//! [`Text`], which makes UTF-8 of whatever it was and counts while it does, and on [`resolve`],
//! which knows the references people really write. What the elements mean is none of this room's
//! business.

#![forbid(unsafe_code)]

mod entity;
mod tag;
mod text;

pub use entity::resolve;
pub use tag::{attributes, cut};
pub use text::{Failure, Text, take_head};
