//! Serde adapter for times in state files.

use bergamot_types::UnixTime;
use serde::{Deserialize, Deserializer, Serializer};

pub(crate) fn serialize<S: Serializer>(time: &UnixTime, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_i64(time.0)
}

pub(crate) fn deserialize<'d, D: Deserializer<'d>>(deserializer: D) -> Result<UnixTime, D::Error> {
    i64::deserialize(deserializer).map(UnixTime)
}

pub(crate) mod optional {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(
        time: &Option<UnixTime>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match time {
            Some(time) => serializer.serialize_some(&time.0),
            None => serializer.serialize_none(),
        }
    }

    pub(crate) fn deserialize<'d, D: Deserializer<'d>>(
        deserializer: D,
    ) -> Result<Option<UnixTime>, D::Error> {
        Option::<i64>::deserialize(deserializer).map(|seconds| seconds.map(UnixTime))
    }
}

pub(crate) mod list {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(
        times: &[UnixTime],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(times.iter().map(|time| time.0))
    }

    pub(crate) fn deserialize<'d, D: Deserializer<'d>>(
        deserializer: D,
    ) -> Result<Vec<UnixTime>, D::Error> {
        let seconds = Vec::<i64>::deserialize(deserializer)?;
        Ok(seconds.into_iter().map(UnixTime).collect())
    }
}
