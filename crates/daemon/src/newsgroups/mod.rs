pub(crate) mod connections;
pub(crate) mod control;
pub(crate) mod poll;
pub(crate) mod session;
