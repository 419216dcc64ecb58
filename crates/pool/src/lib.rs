//! [`Pool`]: which servers *may* be asked: levels, mirrors, connections, back-off.
//!
//! The pool knows what each server is willing to do and what has been tried for an article; from
//! these two it says where the article may go next. It knows nothing of jobs and opens nothing.
//!
//! - [`Pool`]: all servers; who has room for a connection, and the [`Route`] of an article
//! - [`Tries`]: what has been tried for one article
//! - [`History`]: what came of that, server by server, for users to read
//! - [`Trouble`]: why connections end; a [`Consequence`] is what came of it

#![forbid(unsafe_code)]

mod ceiling;
mod history;
mod pool;
mod server;
mod settings;
mod tries;
mod trouble;

pub use history::{Encounter, History};
pub use pool::{Pool, Route};
pub use server::{Attempt, Consequence};
pub use settings::ServerSettings;
pub use tries::Tries;
pub use trouble::Trouble;
