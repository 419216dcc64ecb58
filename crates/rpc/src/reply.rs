//! Results, written as text at once.
//!
//! A queue of a hundred thousand jobs is many megabytes of answer. It is written from the values the
//! daemon gave, field by field, and no tree of it is ever built.

use serde::Serialize;

use crate::xml_writer;

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Format {
    Json,
    Xml,
}

/// A result as text of its format, without the envelope.
#[derive(Debug)]
pub(crate) struct Reply(pub(crate) Vec<u8>);

impl Format {
    pub(crate) fn write(self, value: &impl Serialize) -> Reply {
        let mut text = Vec::new();
        self.append(&mut text, value);
        Reply(text)
    }

    pub(crate) fn append(self, text: &mut Vec<u8>, value: &impl Serialize) {
        match self {
            Self::Json => serde_json::to_writer(text, value)
                .expect("our own values have text for keys, and a vector takes all"),
            Self::Xml => xml_writer::write_value(text, value),
        }
    }

    /// A list, item by item. Others get their turn in between, for a long one takes a while, and
    /// what is written is given free.
    pub(crate) async fn write_list<T>(
        self,
        items: Vec<T>,
        write: impl Fn(Self, &mut Vec<u8>, &T),
    ) -> Reply {
        let (head, between, tail): (&[u8], &[u8], &[u8]) = match self {
            Self::Json => (b"[", b",", b"]"),
            Self::Xml => (b"<value><array><data>", b"", b"</data></array></value>"),
        };
        let mut text = head.to_vec();
        for (place, item) in items.into_iter().enumerate() {
            if place > 0 {
                text.extend_from_slice(between);
            }
            write(self, &mut text, &item);
            if place % ITEMS_AT_ONCE == ITEMS_AT_ONCE - 1 {
                tokio::task::yield_now().await;
            }
        }
        text.extend_from_slice(tail);
        Reply(text)
    }

    /// A part of a list, as [`crate::view::Page`] would be written.
    pub(crate) fn page(self, total: usize, items: Reply) -> Reply {
        let total = self.write(&total).0;
        let (before, between, after): (&[u8], &[u8], &[u8]) = match self {
            Self::Json => (br#"{"total":"#, br#","items":"#, b"}"),
            Self::Xml => (
                b"<value><struct><member><name>total</name>",
                b"</member><member><name>items</name>",
                b"</member></struct></value>",
            ),
        };
        Reply(items.between(&[before, &total, between].concat(), after))
    }
}

impl Reply {
    /// With text before and after it, in the memory it has: a copy of a long list would be as much
    /// again.
    pub(crate) fn between(self, head: &[u8], tail: &[u8]) -> Vec<u8> {
        let Self(mut text) = self;
        text.reserve_exact(head.len() + tail.len());
        text.extend_from_slice(tail);
        text.splice(0..0, head.iter().copied());
        text
    }
}

/// Less than a millisecond of work.
const ITEMS_AT_ONCE: usize = 64;
