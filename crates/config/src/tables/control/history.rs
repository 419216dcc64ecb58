//! How long ended jobs are remembered.

use crate::reading::fields::Fields;

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct History {
    pub keep_days: u32,
    pub most: usize,
}

impl History {
    pub(crate) fn read(mut fields: Fields<'_, '_>) -> Self {
        let keep_days = fields.number("keep");
        if keep_days == 0 {
            fields.unfit("keep", "it is 0, and programs look for what ended in the history");
        }
        Self { keep_days, most: fields.number("most") }
    }
}
