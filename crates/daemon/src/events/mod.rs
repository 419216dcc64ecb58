//! What subscribers of the event stream and the terminal are told, and how often.

pub(crate) mod progress;
pub(crate) mod publish;
pub(crate) mod terminal;
