//! Whether jobs that wait are looked after.

use std::time::Duration;

use super::fields::Fields;

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Probes {
    pub(crate) enabled: bool,
    pub(crate) interval: Duration,
}

impl Probes {
    pub(super) fn read(mut fields: Fields<'_, '_>) -> Self {
        Self { enabled: fields.flag("enabled"), interval: fields.time("interval") }
    }
}
