//! [`Usage`]: the used bytes of the quotas, in a state file.

use std::collections::BTreeMap;

use bergamot_types::{ByteCount, UnixTime};
use serde::{Deserialize, Serialize};

use crate::state::state_file::Kept;

/// The use of all quotas; `limit` interprets the records.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct Usage {
    /// Of all servers together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub all: Option<Used>,
    /// By the names of the servers, which outlive their numbers.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub servers: BTreeMap<String, Used>,
}

#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct Used {
    #[serde(with = "as_bytes")]
    pub ever: ByteCount,
    #[serde(default, skip_serializing_if = "Option::is_none", with = "as_seconds")]
    pub turned_back: Option<UnixTime>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub days: Vec<UsedDay>,
}

#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct UsedDay {
    pub day: i32,
    pub counts_as: i32,
    #[serde(with = "as_bytes")]
    pub used: ByteCount,
}

impl Kept for Usage {
    const NAME: &'static str = "usage";
    const WORD: &'static str = "bergamot-usage";

    fn to_text(&self) -> String {
        toml::to_string(self).expect("usage has only what TOML can hold")
    }

    fn from_text(text: &str) -> Option<Self> {
        toml::from_str(text).ok()
    }
}

/// TOML counts to 2^63; no quota comes near that.
mod as_bytes {
    use bergamot_types::ByteCount;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(
        bytes: &ByteCount,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_i64(i64::try_from(bytes.0).unwrap_or(i64::MAX))
    }

    pub(super) fn deserialize<'d, D: Deserializer<'d>>(
        deserializer: D,
    ) -> Result<ByteCount, D::Error> {
        u64::deserialize(deserializer).map(ByteCount)
    }
}

mod as_seconds {
    use bergamot_types::UnixTime;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(
        time: &Option<UnixTime>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        time.map(|time| time.0).serialize(serializer)
    }

    pub(super) fn deserialize<'d, D: Deserializer<'d>>(
        deserializer: D,
    ) -> Result<Option<UnixTime>, D::Error> {
        Ok(Option::<i64>::deserialize(deserializer)?.map(UnixTime))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::UsageFile;

    fn used(bytes: u64) -> Used {
        let day = UsedDay { day: 20_000, counts_as: 19_999, used: ByteCount(bytes) };
        Used {
            ever: ByteCount(bytes),
            turned_back: Some(UnixTime(-1)),
            days: vec![day, UsedDay { counts_as: 20_000, ..day }],
        }
    }

    fn usage() -> Usage {
        let servers = [("a \"b\" = [c]\n", used(7)), ("plain", Used::default())];
        let servers = servers.map(|(name, used)| (name.to_owned(), used)).into();
        Usage { all: Some(used(1 << 40)), servers }
    }

    #[test]
    fn what_was_written_is_found() {
        let home = tempfile::tempdir().unwrap();
        let (file, found, told) = UsageFile::open(home.path());
        assert_eq!((found, told), (Usage::default(), None));
        file.write(&usage()).unwrap();
        file.write(&usage()).unwrap();
        let (_, found, told) = UsageFile::open(home.path());
        assert_eq!((found, told), (usage(), None));
    }

    #[test]
    fn more_than_toml_can_count_is_the_most_it_can() {
        let home = tempfile::tempdir().unwrap();
        let (file, ..) = UsageFile::open(home.path());
        file.write(&Usage { all: Some(used(u64::MAX)), ..Usage::default() }).unwrap();
        let (_, found, _) = UsageFile::open(home.path());
        assert_eq!(found.all.unwrap().ever, ByteCount(i64::MAX as u64));
    }

    #[test]
    fn what_is_damaged_is_set_aside_and_told() {
        let home = tempfile::tempdir().unwrap();
        let (file, ..) = UsageFile::open(home.path());
        file.write(&usage()).unwrap();
        let path = home.path().join("usage");
        let mut bytes = fs::read(&path).unwrap();
        *bytes.last_mut().unwrap() ^= 1;
        fs::write(&path, &bytes).unwrap();
        let (file, found, told) = UsageFile::open(home.path());
        assert_eq!(found, Usage::default());
        assert!(told.unwrap().ends_with("usage.damaged is set aside: it is damaged"));
        assert_eq!(fs::read(home.path().join("usage.damaged")).unwrap(), bytes);
        file.write(&usage()).unwrap();
        let (_, found, told) = UsageFile::open(home.path());
        assert_eq!((found, told), (usage(), None));
    }
}
