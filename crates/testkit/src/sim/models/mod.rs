//! Servers that exist only as rules: no byte is made, but each takes its time.

mod answer;
mod flow;
mod line;
mod link;
mod servers;

pub(crate) use answer::part;
pub(crate) use servers::{Servers, credit_event};
