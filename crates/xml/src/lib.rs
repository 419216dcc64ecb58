//! A bounded XML reader for untrusted documents: [`Text`], [`Walk`] and [`resolve`]. Pure.
//!
//! NZBs and feeds come from the same indexers and have the same defects. [`Text`] converts any encoding to
//! UTF-8 and counts bytes and lines, [`Walk`] iterates over the elements, and [`resolve`] resolves entity
//! references as they occur in practice. What the elements mean is decided by the crates that use this one.

#![forbid(unsafe_code)]

mod entity;
mod tag;
mod text;
mod walk;

pub use entity::resolve;
pub use tag::{attributes, cut};
pub use text::{Failure, Text, take_head};
pub use walk::{Broken, Capture, Malformed, Place, Step, Walk};
