//! HTTP client for feeds and for NZBs given by their URL.
//!
//! - [`Client`]: GET, with redirects, within bounds
//! - [`Request`], [`Reach`]: what to fetch, and how far it may lead
//! - [`Response`]: the answer, with the headers that matter to us
//! - [`HttpError`]: why there is none
//!
//! Addresses come from feeds and clients, redirects from foreign servers; neither is trusted. So every address is held
//! against `reachable` after the name was looked up, and the connection goes to that very address: a
//! name that changes its mind in between gains nothing.

mod client;
mod disposition;
mod error;
mod exchange;
mod inflate;
mod reach;
mod response;
mod route;

pub use client::{Client, Request};
pub use disposition::file_name;
pub use error::HttpError;
pub use reach::{Reach, is_public};
pub use response::{RateLimit, Response};
