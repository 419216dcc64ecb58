//! What is published to the event stream and the terminal, and how often.

pub(crate) mod progress;
pub(crate) mod publish;
pub(crate) mod terminal;
