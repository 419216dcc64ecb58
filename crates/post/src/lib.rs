//! [`Post`]: which steps a job takes between its last article and its destination.
//!
//! One machine: events in, orders out, and the next deadline. It has no file, no thread and no clock;
//! the shell around it carries out tasks and reports their results. Today there is one step, the move.
//!
//! - [`Post`]: the machine, with its contract
//! - [`Event`], [`Order`], [`Ticket`]: what it is told, and what it wants done
//! - [`Task`]: what a step wants done; a variant for each kind
//! - [`Status`]: the stage of a job, for users
//!
//! `steps/` has a file for each step. `docs/adding-a-step.md` lists what a new one needs.

#![forbid(unsafe_code)]

mod event;
mod order;
mod post;
mod steps;

pub use event::Event;
pub use order::{Order, Ticket};
pub use post::{Post, Status};
pub use steps::Task;
