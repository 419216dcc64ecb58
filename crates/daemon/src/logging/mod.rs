pub(crate) mod recent;
pub(crate) mod start;
