//! Model servers: they follow rules and take time, and no byte is made.

mod answer;
mod flow;
mod line;
mod link;
mod servers;

pub(crate) use answer::part;
pub(crate) use servers::{Servers, credit_event};
