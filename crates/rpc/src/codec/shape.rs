//! [`Shape`]: counts the values and levels of a request while its bytes arrive, before it is parsed.
//!
//! A value of two bytes on the wire takes some thirty in memory, so the size of a request does not bound the memory of its
//! parameters. This does, without memory of its own: it only distinguishes text within quotes from the rest, and accepts
//! more than a parser would.

use memchr::{memchr_iter, memchr2};
use thiserror::Error;

use crate::codec::json::Json;

#[derive(Debug)]
pub(crate) enum Shape {
    Json(JsonShape),
    Xml { tags: usize },
}

#[derive(Debug, Default)]
pub(crate) struct JsonShape {
    state: State,
    depth: usize,
    values: usize,
    offset: usize,
}

#[derive(Clone, Copy, Debug, Default)]
enum State {
    #[default]
    Outside,
    Text,
    /// Behind a backslash.
    Escaped,
}

/// What a request has too much of.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
pub(crate) enum Excess {
    #[error("more than {DEEPEST} levels deep at byte {offset}")]
    Depth { offset: usize },
    #[error("more than {MOST_VALUES} values")]
    Values,
}

impl Shape {
    pub(crate) fn json() -> Self {
        Self::Json(JsonShape::default())
    }

    pub(crate) fn xml() -> Self {
        Self::Xml { tags: 0 }
    }

    pub(crate) fn handle_input(&mut self, bytes: &[u8]) -> Result<(), Excess> {
        match self {
            Self::Json(shape) => shape.handle_input(bytes),
            Self::Xml { tags } => {
                *tags += memchr_iter(b'<', bytes).count();
                if *tags > MOST_TAGS { Err(Excess::Values) } else { Ok(()) }
            }
        }
    }
}

impl JsonShape {
    fn handle_input(&mut self, mut bytes: &[u8]) -> Result<(), Excess> {
        while let Some(byte) = bytes.first() {
            let mut length = 1;
            match (self.state, byte) {
                (State::Escaped, _) => self.state = State::Text,
                (State::Text, _) => {
                    // Most of a large request is text, so that is skipped in one go.
                    let end = memchr2(b'"', b'\\', bytes);
                    length = end.map_or(bytes.len(), |at| at + 1);
                    self.state = match end.map(|at| bytes[at]) {
                        Some(b'\\') => State::Escaped,
                        Some(_) => State::Outside,
                        None => State::Text,
                    };
                }
                (State::Outside, b'"') => self.state = State::Text,
                (State::Outside, b'[' | b'{') => {
                    self.depth += 1;
                    if self.depth > DEEPEST + 1 {
                        return Err(Excess::Depth { offset: self.offset });
                    }
                    self.on_value()?;
                }
                (State::Outside, b']' | b'}') => self.depth = self.depth.saturating_sub(1),
                (State::Outside, b',' | b':') => self.on_value()?,
                (State::Outside, _) => {}
            }
            self.offset += length;
            bytes = &bytes[length..];
        }
        Ok(())
    }

    fn on_value(&mut self) -> Result<(), Excess> {
        self.values += 1;
        if self.values > MOST_VALUES { Err(Excess::Values) } else { Ok(()) }
    }
}

/// No request of any client needs ten.
pub(crate) const DEEPEST: usize = 64;
/// The memory that the parameters of one request may take, beside their text: three times what the
/// largest call needs, `editqueue` with 10,000 ids.
const LARGEST_TREE: usize = 1 << 20;
pub(crate) const MOST_VALUES: usize = LARGEST_TREE / size_of::<Json<'_>>();
/// A member of a struct has eight, and no value has more.
const MOST_TAGS: usize = 8 * MOST_VALUES;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn json(text: &str) -> Result<usize, Excess> {
        let mut shape = JsonShape::default();
        shape.handle_input(text.as_bytes()).map(|()| shape.values)
    }

    #[test]
    fn values_are_counted_outside_of_text_only() {
        assert_eq!(json(r#"{"method":"a","params":[1,2,{"b":"c"}]}"#), Ok(9));
        assert_eq!(json(r#"["a,b:[{\",,,\\",1]"#), Ok(2));
        let many = format!("[{}", "1,".repeat(MOST_VALUES));
        assert_eq!(json(&many), Err(Excess::Values));
        assert!(json(&format!("[\"{many}\"]")).is_ok());
    }

    /// `docs/rpc.md` names it.
    #[test]
    fn the_number_of_values_is_the_one_that_is_documented() {
        assert_eq!(MOST_VALUES, 32_768);
    }

    #[test]
    fn levels_are_counted_as_the_parser_does() {
        let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
        assert!(json(&nested(DEEPEST + 1)).is_ok());
        assert_eq!(json(&nested(DEEPEST + 2)), Err(Excess::Depth { offset: DEEPEST + 1 }));
        assert!(json(&nested(2).repeat(1000)).is_ok());
    }

    #[test]
    fn the_largest_call_in_use_fits() {
        let ids: Vec<String> = (0..10_000).map(|id| id.to_string()).collect();
        let call = format!(r#"{{"method":"editqueue","params":["a","",[{}]]}}"#, ids.join(","));
        assert!(json(&call).is_ok());
        let values = "<value><i4>1</i4></value>".repeat(10_000);
        assert!(Shape::xml().handle_input(values.as_bytes()).is_ok());
        let empty = "<value/>".repeat(MOST_TAGS + 1);
        assert_eq!(Shape::xml().handle_input(empty.as_bytes()), Err(Excess::Values));
    }

    proptest! {
        #[test]
        fn every_cut_counts_the_same(text in r#"[\[\]{}",:0-9a\\ ]{0,60}"#, cut in 0usize..60) {
            let cut = cut.min(text.len());
            let mut shape = JsonShape::default();
            let parts = [&text.as_bytes()[..cut], &text.as_bytes()[cut..]];
            for part in parts {
                prop_assert!(shape.handle_input(part).is_ok());
            }
            prop_assert_eq!(Ok(shape.values), json(&text));
        }
    }
}
