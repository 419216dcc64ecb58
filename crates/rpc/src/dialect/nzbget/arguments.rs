//! [`Arguments`]: the positional parameters of a call in NZBGet's dialect, flattened.
//!
//! Nested lists are flattened, which clients rely on: `["drone", "x"]`, `[["drone", "x"]]` and
//! `[{"Name": "drone", "Value": "x"}]` are the same two values. The type of a value is checked when it is read, and
//! converted where that is safe.

use std::borrow::Cow;
use std::collections::VecDeque;

use crate::call::fault::Fault;
use crate::call::registry::Kind;
use crate::codec::json::Json;

#[derive(Debug, Default)]
pub(crate) struct Arguments<'a>(VecDeque<Scalar<'a>>);

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Scalar<'a> {
    Bool(bool),
    Integer(i128),
    Text(Cow<'a, str>),
}

impl<'a> Arguments<'a> {
    pub(crate) fn flattened(params: Json<'a>) -> Result<Self, Fault> {
        let mut flat = Self::default();
        match params {
            // Some clients send `{}` for no parameters.
            Json::Object(fields) if fields.is_empty() => {}
            params => flat.append(params)?,
        }
        Ok(flat)
    }

    fn append(&mut self, value: Json<'a>) -> Result<(), Fault> {
        let scalar = match value {
            Json::Null => return Ok(()),
            Json::Bool(value) => Scalar::Bool(value),
            Json::Integer(value) => Scalar::Integer(value),
            // Some languages have one type of number only.
            Json::Float(value) if value.fract() == 0.0 && value.abs() < EXACT => {
                Scalar::Integer(value as i128)
            }
            Json::Float(value) => Scalar::Text(value.to_string().into()),
            Json::Text(text) => Scalar::Text(text),
            Json::List(list) => return list.into_iter().try_for_each(|item| self.append(item)),
            Json::Object(fields) => return self.append_pair(fields),
        };
        if self.0.len() == MOST {
            return Err(Fault::TooMany { count: MOST + 1, limit: MOST });
        }
        self.0.push_back(scalar);
        Ok(())
    }

    /// Of `{"Name": …, "Value": …}` only the values count, in this order; of other objects each key
    /// names its value.
    fn append_pair(&mut self, fields: Vec<(Cow<'a, str>, Json<'a>)>) -> Result<(), Fault> {
        let mut object = Json::Object(fields);
        let (name, value) = (object.take("Name"), object.take("Value"));
        if let (Some(name), Some(value)) = (name, value) {
            self.append(name)?;
            return self.append(value);
        }
        let Json::Object(fields) = object else { return Ok(()) };
        for (key, value) in fields {
            self.append(Json::Text(key))?;
            self.append(value)?;
        }
        Ok(())
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn peek(&self, place: usize) -> Option<&Scalar<'a>> {
        self.0.get(place)
    }

    pub(crate) fn text(&mut self, name: &str) -> Result<Cow<'a, str>, Fault> {
        self.optional_text().ok_or_else(|| missing(name, Kind::String))
    }

    pub(crate) fn optional_text(&mut self) -> Option<Cow<'a, str>> {
        Some(match self.0.pop_front()? {
            Scalar::Bool(value) => value.to_string().into(),
            Scalar::Integer(value) => value.to_string().into(),
            Scalar::Text(text) => text,
        })
    }

    pub(crate) fn integer(&mut self, name: &str) -> Result<i64, Fault> {
        let value = self.0.pop_front().ok_or_else(|| missing(name, Kind::Integer))?;
        value.integer().ok_or_else(|| value.is_no(Kind::Integer, name))
    }

    pub(crate) fn integer_or(&mut self, name: &str, otherwise: i64) -> Result<i64, Fault> {
        if self.is_empty() { Ok(otherwise) } else { self.integer(name) }
    }

    pub(crate) fn bool(&mut self, name: &str) -> Result<bool, Fault> {
        match self.0.pop_front().ok_or_else(|| missing(name, Kind::Boolean))? {
            Scalar::Bool(value) => Ok(value),
            Scalar::Integer(value @ 0..=1) => Ok(value == 1),
            Scalar::Text(text) if text.eq_ignore_ascii_case("true") => Ok(true),
            Scalar::Text(text) if text.eq_ignore_ascii_case("false") => Ok(false),
            other => Err(other.is_no(Kind::Boolean, name)),
        }
    }

    pub(crate) fn bool_or(&mut self, name: &str, otherwise: bool) -> Result<bool, Fault> {
        if self.is_empty() { Ok(otherwise) } else { self.bool(name) }
    }
}

impl Scalar<'_> {
    fn is_no(&self, expected: Kind, name: &str) -> Fault {
        let given = match self {
            Self::Bool(_) => "a boolean",
            Self::Integer(_) => "an integer",
            Self::Text(_) => "a string",
        };
        Fault::WrongType { name: name.to_owned(), expected, given }
    }

    pub(crate) fn integer(&self) -> Option<i64> {
        match self {
            Self::Bool(_) => None,
            Self::Integer(value) => i64::try_from(*value).ok(),
            Self::Text(text) => text.trim().parse().ok(),
        }
    }
}

fn missing(name: &str, expected: Kind) -> Fault {
    Fault::MissingParameter { name: name.to_owned(), expected }
}

/// The numbers below are exact in a `f64`.
const EXACT: f64 = 9_007_199_254_740_992.0;
/// The largest call is `editqueue` with as many ids as it may have.
const MOST: usize = 10_100;

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(json: &str) -> Vec<String> {
        let mut arguments =
            Arguments::flattened(Json::parse(json.as_bytes()).expect("the test is right"))
                .expect("few enough");
        std::iter::from_fn(|| arguments.optional_text().map(Cow::into_owned)).collect()
    }

    #[test]
    fn every_way_to_write_a_pair_is_the_same() {
        for json in [
            r#"["drone","x"]"#,
            r#"[["drone","x"]]"#,
            r#"[[["drone","x"]]]"#,
            r#"[{"Name":"drone","Value":"x"}]"#,
            r#"[{"Value":"x","Name":"drone"}]"#,
            r#"[[{"drone":"x"}]]"#,
        ] {
            assert_eq!(texts(json), ["drone", "x"], "{json}");
        }
    }

    #[test]
    fn no_parameters_are_written_in_many_ways() {
        for json in ["{}", "null", "[]", "[[]]", "[null]"] {
            assert!(texts(json).is_empty(), "{json}");
        }
    }

    #[test]
    fn numbers_and_flags_are_read_leniently() {
        let mut arguments =
            Arguments::flattened(Json::parse(br#"[5.0,"7",1,"FALSE",true,1e300]"#).expect("JSON"))
                .expect("few enough");
        assert_eq!(arguments.integer("a").expect("a number"), 5);
        assert_eq!(arguments.integer("b").expect("a number"), 7);
        assert!(arguments.bool("c").expect("a flag"));
        assert!(!arguments.bool("d").expect("a flag"));
        assert!(arguments.integer("e").is_err());
        assert!(arguments.integer("f").is_err());
        assert!(arguments.integer("g").is_err());
    }
}
