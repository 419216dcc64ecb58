//! [`Fields`]: an object with NZBGet's field names and its 32-bit numbers.

use bergamot_types::UnixTime;
use serde::Serialize;
use serde::ser::{SerializeStruct, Serializer};

/// Writes one object, field after field.
///
/// An error is kept until the end, so that the lists of fields read as lists.
pub(super) struct Fields<S: Serializer>(Result<S::SerializeStruct, S::Error>);

impl<S: Serializer> Fields<S> {
    pub(super) fn of(to: S) -> Self {
        // Some serializers close an object at once if its length is 0.
        Self(to.serialize_struct("", 1))
    }

    pub(super) fn put(&mut self, name: &'static str, value: impl Serialize) -> &mut Self {
        if let Ok(fields) = &mut self.0
            && let Err(error) = fields.serialize_field(name, &value)
        {
            self.0 = Err(error);
        }
        self
    }

    /// The three numbers of one size; see `size!`.
    pub(super) fn put_size(&mut self, names: [&'static str; 3], bytes: u64) -> &mut Self {
        self.put_halves([names[0], names[1]], bytes).put(names[2], mebibytes(bytes))
    }

    pub(super) fn put_halves(&mut self, names: [&'static str; 2], bytes: u64) -> &mut Self {
        self.put(names[0], bytes as u32).put(names[1], (bytes >> 32) as u32)
    }

    pub(super) fn end(self) -> Result<S::Ok, S::Error> {
        self.0?.end()
    }
}

/// The names of the low and the high half of a size, and of its mebibytes.
macro_rules! size {
    ($name:literal) => {
        [concat!($name, "Lo"), concat!($name, "Hi"), concat!($name, "MB")]
    };
}

/// The names of the two halves alone.
macro_rules! halves {
    ($name:literal) => {
        [concat!($name, "Lo"), concat!($name, "Hi")]
    };
}

pub(super) use {halves, size};

fn mebibytes(bytes: u64) -> i32 {
    narrow(bytes >> 20)
}

/// Clients read signed 32-bit numbers, and some fail on larger ones; so it is capped.
pub(super) fn narrow(number: impl TryInto<i32>) -> i32 {
    number.try_into().unwrap_or(i32::MAX)
}

/// Seconds since 1970; none is 0.
pub(super) fn seconds(time: Option<UnixTime>) -> i32 {
    time.map_or(0, |time| narrow(time.0.max(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Sized(u64);

    impl Serialize for Sized {
        fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
            let mut fields = Fields::of(to);
            fields.put_size(size!("X"), self.0);
            fields.end()
        }
    }

    #[test]
    fn sizes_are_split_into_unsigned_halves_and_floored_mebibytes() {
        let written = |bytes| serde_json::to_string(&Sized(bytes)).expect("it can be written");
        assert_eq!(written(0), r#"{"XLo":0,"XHi":0,"XMB":0}"#);
        assert_eq!(written((1 << 20) - 1), r#"{"XLo":1048575,"XHi":0,"XMB":0}"#);
        assert_eq!(written((5 << 32) + 0xffff_ffff), r#"{"XLo":4294967295,"XHi":5,"XMB":24575}"#);
        assert_eq!(written(u64::MAX), r#"{"XLo":4294967295,"XHi":4294967295,"XMB":2147483647}"#);
    }
}
