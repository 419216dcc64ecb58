//! [`Json`]: a parsed JSON value of a request, borrowed from the request's bytes.
//!
//! Stricter than most parsers: a duplicate key is an error, because two parsers could read two different requests from it.
//! Strings are borrowed, so that the base64 text of a large NZB is not copied.

use std::borrow::Cow;
use std::fmt;

use serde::de::value::SeqDeserializer;
use serde::de::{
    self, DeserializeSeed, Deserializer, IntoDeserializer, MapAccess, SeqAccess, Visitor,
};
use serde::{Serialize, Serializer, forward_to_deserialize_any};
use serde_json::value::RawValue;
use thiserror::Error;

use crate::codec::shape::DEEPEST;

/// A value as it was sent.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Json<'a> {
    Null,
    Bool(bool),
    /// Wide enough for every number that is written without a point and fits 64 bits.
    Integer(i128),
    Float(f64),
    Text(Cow<'a, str>),
    List(Vec<Json<'a>>),
    Object(Vec<(Cow<'a, str>, Json<'a>)>),
}

/// Why a text is no JSON of ours.
#[derive(Debug, Error)]
#[error("{what} at byte {offset}")]
pub(crate) struct Malformed {
    what: String,
    pub(crate) offset: usize,
}

impl<'a> Json<'a> {
    #[cfg(test)]
    pub(crate) fn parse(text: &'a [u8]) -> Result<Self, Malformed> {
        Source::of(text)?.parse()
    }

    pub(crate) fn take(&mut self, key: &str) -> Option<Json<'a>> {
        let Self::Object(fields) = self else { return None };
        let at = fields.iter().position(|(name, _)| name == key)?;
        Some(fields.swap_remove(at).1)
    }

    /// What it is, in words.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "a boolean",
            Self::Integer(_) => "an integer",
            Self::Float(_) => "a number that is no integer of 64 bits",
            Self::Text(_) => "a string",
            Self::List(_) => "an array",
            Self::Object(_) => "an object",
        }
    }

    pub(crate) fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// The text of a value that is not parsed yet, within that of a whole message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Source<'a> {
    message: &'a str,
    text: &'a str,
}

/// The fields of an object, none of them parsed yet.
pub(crate) struct Fields<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'a> Source<'a> {
    pub(crate) fn of(message: &'a [u8]) -> Result<Self, Malformed> {
        let message = std::str::from_utf8(message).map_err(|error| Malformed {
            what: "not UTF-8".to_owned(),
            offset: error.valid_up_to(),
        })?;
        Ok(Self { message, text: message })
    }

    pub(crate) fn len(&self) -> usize {
        self.text.len()
    }

    /// The kind of the value, from its first character.
    pub(crate) fn first(&self) -> Option<u8> {
        self.text.trim_ascii_start().bytes().next()
    }

    pub(crate) fn parse(self) -> Result<Json<'a>, Malformed> {
        self.read(AtDepth(0))
    }

    pub(crate) fn fields(self) -> Result<Fields<'a>, Malformed> {
        self.read(ShallowObject)
    }

    pub(crate) fn items(self) -> Result<Vec<Self>, Malformed> {
        let items = self.read(std::marker::PhantomData::<Vec<&'a RawValue>>)?;
        Ok(items.into_iter().map(|item| self.within(item)).collect())
    }

    /// Checks that it is JSON at all.
    pub(crate) fn check(self) -> Result<(), Malformed> {
        self.read(std::marker::PhantomData::<de::IgnoredAny>).map(|_| ())
    }

    fn within(&self, part: &'a RawValue) -> Self {
        Self { message: self.message, text: part.get() }
    }

    fn read<S: DeserializeSeed<'a>>(self, seed: S) -> Result<S::Value, Malformed> {
        let mut reader = serde_json::Deserializer::from_str(self.text);
        let value = seed.deserialize(&mut reader).and_then(|value| {
            reader.end()?;
            Ok(value)
        });
        value.map_err(|error| {
            let mut malformed = Malformed::new(&error, self.text);
            malformed.offset += self.text.as_ptr() as usize - self.message.as_ptr() as usize;
            malformed
        })
    }
}

impl<'a> Fields<'a> {
    pub(crate) fn take(&mut self, key: &str, of: Source<'a>) -> Option<Source<'a>> {
        let at = self.0.iter().position(|(name, _)| name == key)?;
        Some(of.within(self.0.swap_remove(at).1))
    }
}

struct ShallowObject;

impl<'de> DeserializeSeed<'de> for ShallowObject {
    type Value = Fields<'de>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Fields<'de>, D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for ShallowObject {
    type Value = Fields<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<Fields<'de>, A::Error> {
        let mut fields: Vec<(Cow<'de, str>, &'de RawValue)> = Vec::new();
        while let Some(Json::Text(name)) = from.next_key_seed(AtDepth(0))? {
            check_key(&fields, &name)?;
            fields.push((name, from.next_value()?));
        }
        Ok(Fields(fields))
    }
}

fn check_key<T, E: de::Error>(fields: &[(Cow<'_, str>, T)], name: &str) -> Result<(), E> {
    if fields.iter().any(|(known, _)| known == name) {
        return Err(de::Error::custom("a key occurs twice"));
    }
    if fields.len() == MOST_KEYS {
        return Err(de::Error::custom(format_args!("more than {MOST_KEYS} keys")));
    }
    Ok(())
}

impl Malformed {
    pub(crate) fn at(offset: usize, what: impl Into<String>) -> Self {
        Self { what: what.into(), offset }
    }

    fn new(error: &serde_json::Error, text: &str) -> Self {
        let line: usize =
            text.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum();
        let message = error.to_string();
        // serde_json ends its message with line and column; the offset replaces them.
        let what = message.split(" at line ").next().unwrap_or(&message).to_owned();
        Self { what, offset: (line + error.column()).min(text.len()) }
    }
}

/// Reads one value, so many lists and objects deep.
struct AtDepth(usize);

impl<'de> DeserializeSeed<'de> for AtDepth {
    type Value = Json<'de>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Json<'de>, D::Error> {
        if self.0 > DEEPEST {
            return Err(de::Error::custom(format_args!("more than {DEEPEST} levels deep")));
        }
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for AtDepth {
    type Value = Json<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Json<'de>, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Json<'de>, E> {
        Ok(Json::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Json<'de>, E> {
        Ok(Json::Integer(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Json<'de>, E> {
        Ok(Json::Integer(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Json<'de>, E> {
        Ok(Json::Float(value))
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Json<'de>, E> {
        Ok(Json::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Json<'de>, E> {
        Ok(Json::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_string<E>(self, text: String) -> Result<Json<'de>, E> {
        Ok(Json::Text(Cow::Owned(text)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<Json<'de>, A::Error> {
        let mut list = Vec::new();
        while let Some(value) = from.next_element_seed(AtDepth(self.0 + 1))? {
            list.push(value);
        }
        Ok(Json::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<Json<'de>, A::Error> {
        let mut fields: Vec<(Cow<'de, str>, Json<'de>)> = Vec::new();
        while let Some(Json::Text(name)) = from.next_key_seed(AtDepth(self.0 + 1))? {
            check_key(&fields, &name)?;
            fields.push((name, from.next_value_seed(AtDepth(self.0 + 1))?));
        }
        Ok(Json::Object(fields))
    }
}

/// So that parameters become the structs of native methods.
impl<'de> Deserializer<'de> for Json<'de> {
    type Error = serde_json::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        match self {
            Self::Null => visitor.visit_unit(),
            Self::Bool(value) => visitor.visit_bool(value),
            Self::Integer(value) => match (u64::try_from(value), i64::try_from(value)) {
                (Ok(value), _) => visitor.visit_u64(value),
                (_, Ok(value)) => visitor.visit_i64(value),
                _ => Err(de::Error::custom("a number too large")),
            },
            Self::Float(value) => visitor.visit_f64(value),
            Self::Text(Cow::Borrowed(text)) => visitor.visit_borrowed_str(text),
            Self::Text(Cow::Owned(text)) => visitor.visit_string(text),
            Self::List(list) => visitor.visit_seq(SeqDeserializer::new(list.into_iter())),
            Self::Object(fields) => {
                visitor.visit_map(Members { fields: fields.into_iter(), value: None })
            }
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        match self {
            Self::Null => visitor.visit_none(),
            value => visitor.visit_some(value),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        match self {
            Self::Text(text) => {
                let text: de::value::CowStrDeserializer<'_, Self::Error> = text.into_deserializer();
                text.deserialize_enum(name, variants, visitor)
            }
            _ => Err(de::Error::custom(format_args!("expected one of {variants:?}"))),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}

/// The fields of an object; an error in the value of one names it.
struct Members<'de> {
    fields: std::vec::IntoIter<(Cow<'de, str>, Json<'de>)>,
    value: Option<(Cow<'de, str>, Json<'de>)>,
}

impl<'de> MapAccess<'de> for Members<'de> {
    type Error = serde_json::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Self::Error> {
        self.value = self.fields.next();
        let Some((name, _)) = &self.value else { return Ok(None) };
        seed.deserialize(Json::Text(name.clone())).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(
        &mut self,
        seed: V,
    ) -> Result<V::Value, Self::Error> {
        let Some((name, value)) = self.value.take() else {
            return Err(de::Error::custom("a value without a key"));
        };
        seed.deserialize(value).map_err(|error| {
            let name: String = name.chars().take(LONGEST_NAMED).collect();
            de::Error::custom(format_args!("{name}: {error}"))
        })
    }
}

impl<'de> IntoDeserializer<'de, serde_json::Error> for Json<'de> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl Serialize for Json<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => to.serialize_unit(),
            Self::Bool(value) => to.serialize_bool(*value),
            Self::Integer(value) => to.serialize_i128(*value),
            Self::Float(value) => to.serialize_f64(*value),
            Self::Text(text) => to.serialize_str(text),
            Self::List(list) => to.collect_seq(list),
            Self::Object(fields) => {
                to.collect_map(fields.iter().map(|(name, value)| (name, value)))
            }
        }
    }
}

/// Of a key, in an error.
const LONGEST_NAMED: usize = 64;
/// Keys are compared one by one, so there must be few. Lists may be long.
const MOST_KEYS: usize = 256;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn refused(text: &str) -> String {
        Json::parse(text.as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn plain_strings_are_not_copied() {
        let Ok(Json::List(list)) = Json::parse(br#"["plain","not \"so\""]"#) else { panic!() };
        assert!(matches!(&list[0], Json::Text(Cow::Borrowed("plain"))));
        assert!(matches!(&list[1], Json::Text(Cow::Owned(text)) if text == "not \"so\""));
    }

    #[test]
    fn ambiguous_and_broken_text_is_refused_with_its_place() {
        assert_eq!(refused(r#"{"a":1,"a":2}"#), "a key occurs twice at byte 10");
        assert_eq!(refused("[1] 2"), "trailing characters at byte 5");
        assert_eq!(refused("[NaN]"), "expected value at byte 2");
        assert_eq!(refused("\n\n[1,"), "EOF while parsing a value at byte 5");
        assert_eq!(Json::parse(b"[\"\xff\"]").unwrap_err().to_string(), "not UTF-8 at byte 2");
    }

    #[test]
    fn depth_is_bounded() {
        let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
        assert!(Json::parse(nested(DEEPEST + 1).as_bytes()).is_ok());
        assert!(refused(&nested(DEEPEST + 2)).starts_with("more than 64 levels deep"));
        assert!(Json::parse(nested(10_000).as_bytes()).is_err());
    }

    #[test]
    fn numbers_beyond_64_bits_are_no_integers() {
        assert_eq!(Json::parse(b"18446744073709551615").unwrap(), Json::Integer(u64::MAX.into()));
        assert!(matches!(Json::parse(b"18446744073709551616").unwrap(), Json::Float(_)));
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes: Vec<u8>) {
            if let Err(error) = Json::parse(&bytes) {
                prop_assert!(error.offset <= bytes.len());
            }
        }

        #[test]
        fn what_is_written_is_read_again(text in r#"[\[\]{}",:0-9a\\ ]{0,40}"#) {
            if let Ok(value) = Json::parse(text.as_bytes()) {
                let again = serde_json::to_string(&value).unwrap();
                prop_assert_eq!(Json::parse(again.as_bytes()).unwrap(), value);
            }
        }
    }
}
