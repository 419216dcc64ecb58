//! How results are written for a terminal: pure functions of a value and a style.

pub(crate) mod columns;
pub(crate) mod fields;
pub(crate) mod format;
pub(crate) mod style;
