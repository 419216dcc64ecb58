//! Helpers for tags, attributes and pieces of text of a document. Pure.

use std::borrow::Cow;

use quick_xml::events::BytesStart;

/// The attributes of a tag with their raw values; what is malformed is passed over.
pub fn attributes<'t>(tag: &'t BytesStart<'_>) -> impl Iterator<Item = (&'t str, Cow<'t, str>)> {
    let mut list = tag.html_attributes();
    list.with_checks(false);
    list.flatten().map(|attribute| (attribute.key.local_name().into_inner(), attribute.value))
}

/// The text up to `limit` bytes, on a character boundary.
pub fn cut(text: &str, limit: usize) -> &str {
    let mut end = limit.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}
