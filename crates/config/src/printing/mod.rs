//! What is said of a configuration: the check, the reference, the sample and the list of values.

pub(crate) mod check;
pub(crate) mod listing;
pub(crate) mod pages;
