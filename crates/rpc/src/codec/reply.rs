//! [`Reply`]: a result as text, in JSON or XML.
//!
//! A queue of a hundred thousand jobs takes hundreds of megabytes of text. So only the beginning of a long list is written
//! at once; the rest is written while it is sent (see [`crate::codec::chunked_reply`]).

use std::future::Future;
use std::pin::Pin;

use bergamot_api::Refusal;
use serde::Serialize;

use crate::codec::xml_writer;

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Format {
    Json,
    Xml,
}

/// A result as text of its format: what is there of it, what is to be made, and what comes behind that.
pub(crate) struct Reply {
    pub(crate) text: Vec<u8>,
    pub(crate) rest: Option<Box<dyn Rest>>,
    pub(crate) tail: Vec<u8>,
}

/// What is still to be made of a text.
pub(crate) trait Rest: Send {
    /// Appends some more of it; false if that was the last.
    fn write_on<'a>(&'a mut self, text: &'a mut Vec<u8>) -> Writing<'a>;
}

pub(crate) type Writing<'a> = Pin<Box<dyn Future<Output = Result<bool, Refusal>> + Send + 'a>>;

impl Format {
    pub(crate) fn write(self, value: &impl Serialize) -> Reply {
        let mut text = Vec::new();
        self.append(&mut text, value);
        Reply::whole(text)
    }

    pub(crate) fn append(self, text: &mut Vec<u8>, value: &impl Serialize) {
        match self {
            Self::Json => serde_json::to_writer(text, value)
                .expect("our own values have text for keys, and a vector takes all"),
            Self::Xml => xml_writer::write_value(text, value),
        }
    }

    /// What stands before a list, between its items, and behind it.
    pub(crate) fn brackets(self) -> [&'static [u8]; 3] {
        match self {
            Self::Json => [b"[", b",", b"]"],
            Self::Xml => [b"<value><array><data>", b"", b"</data></array></value>"],
        }
    }

    /// A part of a list, as [`bergamot_api::view::Page`] would be written.
    pub(crate) fn page(self, total: usize, items: Reply) -> Reply {
        let (before, between, after): (&[u8], &[u8], &[u8]) = match self {
            Self::Json => (br#"{"total":"#, br#","items":"#, b"}"),
            Self::Xml => (
                b"<value><struct><member><name>total</name>",
                b"</member><member><name>items</name>",
                b"</member></struct></value>",
            ),
        };
        let mut head = before.to_vec();
        self.append(&mut head, &total);
        head.extend_from_slice(between);
        items.between(&head, after)
    }
}

impl Reply {
    pub(crate) fn whole(text: Vec<u8>) -> Self {
        Self { text, rest: None, tail: Vec::new() }
    }

    /// With text before and after it, in the memory it has: a copy of a long one would be as much again.
    pub(crate) fn between(mut self, head: &[u8], tail: &[u8]) -> Self {
        let end = if self.rest.is_some() { &mut self.tail } else { &mut self.text };
        end.extend_from_slice(tail);
        self.text.splice(0..0, head.iter().copied());
        self
    }
}
