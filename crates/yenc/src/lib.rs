//! One article body: encoded bytes in, file bytes and a judgement out.
//!
//! [`Decoder`] takes the raw bytes of one NNTP answer in any split and writes the decoded ones into
//! the caller's buffer, in one pass with the CRC. Its [`Outcome`] has two halves: what the article
//! says it is, and what is wrong with it. Both are given whenever possible, because a damaged part
//! in its place still helps PAR2.
//!
//! [`encode`] goes the other way, for the news server of our tests and the demo.

#![forbid(unsafe_code)]

mod control;
mod decoder;
pub mod encode;
mod fault;
mod line;
mod part;
mod preamble;
mod uu;
mod verdict;

pub use decoder::{Decoder, Step};
pub use fault::Fault;
pub use part::{Check, Encoding, Outcome, Part};
