//! [`Plain`]: serde adapters that store types of other crates as the plain values they wrap.

use bergamot_queue::Permille;
use bergamot_types::{ByteCount, ByteRate, JobId, Secret, UnixTime};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub trait Plain: Sized {
    type Value: Serialize + DeserializeOwned;

    fn to_plain(&self) -> Self::Value;
    fn from_plain(value: Self::Value) -> Self;
}

pub fn serialize<T: Plain, S: Serializer>(noun: &T, to: S) -> Result<S::Ok, S::Error> {
    noun.to_plain().serialize(to)
}

pub fn deserialize<'d, T: Plain, D: Deserializer<'d>>(from: D) -> Result<T, D::Error> {
    T::Value::deserialize(from).map(T::from_plain)
}

/// The same where there may be none.
pub mod optional {
    use super::*;

    pub fn serialize<T: Plain, S: Serializer>(noun: &Option<T>, to: S) -> Result<S::Ok, S::Error> {
        noun.as_ref().map(T::to_plain).serialize(to)
    }

    pub fn deserialize<'d, T: Plain, D: Deserializer<'d>>(from: D) -> Result<Option<T>, D::Error> {
        Ok(Option::<T::Value>::deserialize(from)?.map(T::from_plain))
    }
}

macro_rules! plain {
    ($($noun:ident: $value:ty),*) => {$(
        impl Plain for $noun {
            type Value = $value;

            fn to_plain(&self) -> $value {
                self.0
            }

            fn from_plain(value: $value) -> Self {
                Self(value)
            }
        }
    )*};
}

plain!(ByteCount: u64, ByteRate: u64, JobId: u32, Permille: u16, UnixTime: i64);

impl Plain for Secret {
    type Value = Box<str>;

    fn to_plain(&self) -> Box<str> {
        self.reveal().into()
    }

    fn from_plain(value: Box<str>) -> Self {
        Self::new(value)
    }
}
