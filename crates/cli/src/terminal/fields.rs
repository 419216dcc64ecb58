//! Facts under each other, as `show` and `status` tell them.

use crate::terminal::columns::{Cell, Columns, flexible, left};
use crate::terminal::style::{Look, Tint};

/// A column of names, and what they mean beside them.
#[derive(Clone, Debug)]
pub(crate) struct Fields(Columns);

impl Fields {
    pub(crate) fn new() -> Self {
        Self(Columns::new([left(""), flexible("")]))
    }

    pub(crate) fn push(&mut self, name: &str, value: impl Into<Cell>) {
        self.0.push([Cell::tinted(Tint::Faint, name), value.into()]);
    }

    /// Nothing is told of what is not there.
    pub(crate) fn push_if_any(&mut self, name: &str, value: Option<impl Into<Cell>>) {
        if let Some(value) = value {
            self.push(name, value);
        }
    }

    /// Nothing is cut: who looks at one thing wants all of it.
    pub(crate) fn page(&self, look: Look) -> String {
        self.0.page(Look { width: None, ..look })
    }
}
