//! One connection to a simulated server.

use std::collections::VecDeque;
use std::time::Duration;

use bergamot_engine::Ticket;

/// Answers leave in the order of the questions, one after the other.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) server: usize,
    pub(crate) open: bool,
    /// When the server is done with what it was asked so far.
    pub(crate) busy_until: Duration,
    pub(crate) asked: VecDeque<Ticket>,
    /// It will break; what is asked behind that gets no answer.
    pub(crate) doomed: bool,
}
