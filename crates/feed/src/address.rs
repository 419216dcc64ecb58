//! Serde adapter for URLs in state files, with their keys.

use bergamot_types::Url;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serializer};

pub(crate) fn serialize<S: Serializer>(url: &Url, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&url.reveal())
}

pub(crate) fn deserialize<'d, D: Deserializer<'d>>(deserializer: D) -> Result<Url, D::Error> {
    Url::parse(&String::deserialize(deserializer)?).map_err(D::Error::custom)
}
