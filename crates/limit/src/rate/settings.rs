//! [`Settings`]: the initial rates.

use std::collections::BTreeMap;

use bergamot_types::{ByteRate, ServerId};

/// A rate of 0 is no limit, here and everywhere.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Settings {
    /// Of all connections together.
    pub rate: ByteRate,
    /// Of all connections to one server, within the former.
    pub server_rates: BTreeMap<ServerId, ByteRate>,
}
