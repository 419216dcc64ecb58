//! Serialisation of single values (times, ids, URLs) in the native dialect, as functions for serde's `with`.

use bergamot_types::{UnixTime, Url};
use chrono::{DateTime, SecondsFormat};

/// RFC 3339 in UTC.
pub mod time {
    use bergamot_types::UnixTime;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub fn serialize<S: Serializer>(time: &UnixTime, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(&format_args!("{}", super::rfc_3339(*time)))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<UnixTime, D::Error> {
        let text = String::deserialize(from)?;
        super::parse_rfc_3339(&text).ok_or_else(|| D::Error::custom("not a time by RFC 3339"))
    }
}

pub mod optional_time {
    use bergamot_types::UnixTime;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub fn serialize<S: Serializer>(time: &Option<UnixTime>, to: S) -> Result<S::Ok, S::Error> {
        match time {
            Some(time) => super::time::serialize(time, to),
            None => to.serialize_none(),
        }
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<UnixTime>, D::Error> {
        let Some(text) = Option::<String>::deserialize(from)? else { return Ok(None) };
        let time = super::parse_rfc_3339(&text);
        time.map(Some).ok_or_else(|| D::Error::custom("not a time by RFC 3339"))
    }
}

pub mod job_id {
    use bergamot_types::JobId;
    use serde::Serializer;

    pub fn serialize<S: Serializer>(id: &JobId, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u32(id.0)
    }
}

pub mod optional_job_id {
    use bergamot_types::JobId;
    use serde::Serializer;

    pub fn serialize<S: Serializer>(id: &Option<JobId>, to: S) -> Result<S::Ok, S::Error> {
        match id {
            Some(id) => to.serialize_u32(id.0),
            None => to.serialize_none(),
        }
    }
}

pub fn outlook<S: serde::Serializer>(
    outlook: &bergamot_queue::Outlook,
    to: S,
) -> Result<S::Ok, S::Error> {
    use bergamot_queue::Outlook;
    to.serialize_str(match outlook {
        Outlook::Complete => "complete",
        Outlook::Hopeless => "hopeless",
        Outlook::Repairable => "repairable",
    })
}

pub mod server_id {
    use bergamot_types::ServerId;
    use serde::Serializer;

    pub fn serialize<S: Serializer>(id: &ServerId, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u16(id.0)
    }
}

pub mod optional_server_id {
    use bergamot_types::ServerId;
    use serde::Serializer;

    pub fn serialize<S: Serializer>(id: &Option<ServerId>, to: S) -> Result<S::Ok, S::Error> {
        match id {
            Some(id) => to.serialize_u16(id.0),
            None => to.serialize_none(),
        }
    }
}

pub mod optional_url {
    use serde::Serializer;

    pub fn serialize<S: Serializer>(url: &Option<String>, to: S) -> Result<S::Ok, S::Error> {
        match url {
            Some(url) => to.serialize_str(&super::without_keys(url)),
            None => to.serialize_none(),
        }
    }
}

/// Addresses often hold the key of an account; what is none may be anything.
pub fn without_keys(url: &str) -> String {
    Url::parse(url).map_or_else(|_| "***".to_owned(), |url| url.to_string())
}

/// The value of a parameter, unless it opens archives.
pub fn shown_value<'a>(name: &str, value: &'a str) -> &'a str {
    if is_password(name) && !value.is_empty() { "***" } else { value }
}

pub fn is_password(name: &str) -> bool {
    name.eq_ignore_ascii_case("*Unpack:Password")
}

/// Times no calendar has are shown as its first day: an answer with one odd date is of more use
/// than none.
pub fn rfc_3339(time: UnixTime) -> String {
    let moment = DateTime::from_timestamp(time.0, 0).unwrap_or_default();
    moment.to_rfc3339_opts(SecondsFormat::Secs, true)
}

fn parse_rfc_3339(text: &str) -> Option<UnixTime> {
    DateTime::parse_from_rfc3339(text).ok().map(|moment| UnixTime(moment.timestamp()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_logins_in_urls_are_cut() {
        for (url, shown) in [
            ("https://x/get/1", "https://x/get/1"),
            ("https://x/get?id=1&apikey=hush", "https://x/get?***"),
            ("https://ann:hush@x/get?a", "https://***@x/get?***"),
            ("https://x/a@b", "https://x/a@b"),
            ("nonsense", "***"),
        ] {
            assert_eq!(without_keys(url), shown);
        }
        assert_eq!(shown_value("*unpack:password", "hush"), "***");
        assert_eq!(shown_value("drone", "x"), "x");
    }

    #[test]
    fn times_are_written_in_utc_and_read_from_any_zone() {
        assert_eq!(rfc_3339(UnixTime(1_800_000_000)), "2027-01-15T08:00:00Z");
        assert_eq!(parse_rfc_3339("2027-01-15T09:00:00+01:00"), Some(UnixTime(1_800_000_000)));
        assert_eq!(rfc_3339(UnixTime(i64::MAX)), "1970-01-01T00:00:00Z");
        assert_eq!(parse_rfc_3339("tomorrow"), None);
    }
}
