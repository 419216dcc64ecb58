//! Whether jobs that wait are looked after.

use std::time::Duration;

use crate::reading::fields::Fields;

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Probes {
    pub enabled: bool,
    pub interval: Duration,
}

impl Probes {
    pub(crate) fn read(mut fields: Fields<'_, '_>) -> Self {
        Self { enabled: fields.flag("enabled"), interval: fields.time("interval") }
    }
}
