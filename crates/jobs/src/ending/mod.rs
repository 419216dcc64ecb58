//! Why jobs end, whether they are tried again, and how long ended jobs are kept. Pure.

pub mod failure;
pub(crate) mod plausible_clock;
pub(crate) mod retention;
pub mod retry;
