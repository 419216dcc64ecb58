//! XML of strangers: any encoding, every token bounded.
//!
//! NZBs and feeds come from the same indexers, with the same sins. What reads them stands on
//! [`Text`], which makes UTF-8 of whatever it was and counts while it does, on [`Walk`], which goes
//! through its elements, and on [`resolve`], which knows the references people really write. What the elements mean is none of this room's
//! business.

#![forbid(unsafe_code)]

mod entity;
mod tag;
mod text;
mod walk;

pub use entity::resolve;
pub use tag::{attributes, cut};
pub use text::{Failure, Text, take_head};
pub use walk::{Broken, Capture, Malformed, Place, Step, Walk};
