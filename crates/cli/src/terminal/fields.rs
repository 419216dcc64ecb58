//! [`Fields`]: names and values below each other, as `show` and `status` print them.

use crate::terminal::columns::{Cell, Columns, flexible, left};
use crate::terminal::style::{Style, Tint};

/// A column of names, and a column of values.
#[derive(Clone, Debug)]
pub(crate) struct Fields(Columns);

impl Fields {
    pub(crate) fn new() -> Self {
        Self(Columns::new([left(""), flexible("")]))
    }

    pub(crate) fn push(&mut self, name: &str, value: impl Into<Cell>) {
        self.0.push([Cell::tinted(Tint::Faint, name), value.into()]);
    }

    /// A value that is none is left out.
    pub(crate) fn push_if_any(&mut self, name: &str, value: Option<impl Into<Cell>>) {
        if let Some(value) = value {
            self.push(name, value);
        }
    }

    /// Nothing is cut: a page about one object shows all of it.
    pub(crate) fn page(&self, style: Style) -> String {
        self.0.page(Style { width: None, ..style })
    }
}
