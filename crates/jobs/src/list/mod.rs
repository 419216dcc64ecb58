//! All jobs with their states and positions, and what follows from those alone. Pure.

pub(crate) mod current_job;
pub(crate) mod job_list;
pub(crate) mod load_window;
pub mod queue_order;
pub(crate) mod remaining;
