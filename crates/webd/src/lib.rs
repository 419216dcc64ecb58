//! A small web server for the loopback that answers as a test tells it to.
//!
//! - [`Site`]: a running server; it keeps every [`Request`] it was sent
//! - [`Answer`]: what is said to a request, in the right way or a wrong one
//!
//! Threads and blocking sockets, so that tests with and without a runtime can use it. Each connection
//! is good for one answer.

#![forbid(unsafe_code)]

mod answer;
mod request;
mod site;

pub use answer::Answer;
pub use request::Request;
pub use site::Site;
