//! Parser of `multipart/form-data` (RFC 7578), the form in which clients upload NZBs.

use std::ops::Range;

/// A field of a form that has come in full.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Part {
    pub(super) name: String,
    /// Of a file; other fields have none.
    pub(super) file_name: Option<String>,
    /// Where it lies in what was read.
    pub(super) content: Range<usize>,
}

/// The boundary that a content type names, if it is that of such a form.
pub(super) fn boundary(content_type: &str) -> Option<String> {
    let (kind, parameters) = content_type.split_once(';')?;
    if !kind.trim().eq_ignore_ascii_case("multipart/form-data") {
        return None;
    }
    let boundary = parameter(parameters, "boundary")?;
    (1..=LONGEST_BOUNDARY).contains(&boundary.len()).then_some(boundary)
}

/// The fields that are complete. The bytes may be the beginning of a form; what is still to come is
/// left out.
pub(super) fn parts(bytes: &[u8], boundary: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    let first = format!("--{boundary}");
    let between = format!("\r\n--{boundary}");
    // What stands before the first boundary means nothing.
    let Some(start) = find(bytes, first.as_bytes()) else { return parts };
    let mut at = start + first.len();
    while parts.len() < MOST_PARTS {
        let rest = &bytes[at..];
        let Some(skipped) = rest.strip_prefix(b"\r\n") else { break };
        at = bytes.len() - skipped.len();
        let Some(head_length) = find(skipped, b"\r\n\r\n").filter(|at| *at <= LONGEST_HEAD) else {
            break;
        };
        let content = at + head_length + 4;
        let Some(length) = find(&bytes[content..], between.as_bytes()) else { break };
        parts.extend(part(&bytes[at..at + head_length], content..content + length));
        at = content + length + between.len();
    }
    parts
}

fn part(head: &[u8], content: Range<usize>) -> Option<Part> {
    let head = String::from_utf8_lossy(head);
    let disposition = head.split("\r\n").find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.trim().eq_ignore_ascii_case("content-disposition").then_some(value)
    })?;
    let (_, parameters) = disposition.split_once(';')?;
    let file_name = parameter(parameters, "filename");
    Some(Part { name: parameter(parameters, "name")?, file_name, content })
}

/// The value of `name=value` or `name="value"` in a list of them.
fn parameter(list: &str, wanted: &str) -> Option<String> {
    let mut rest = list;
    while let Some((name, after)) = rest.split_once('=') {
        let name = name.trim_start_matches([';', ' ', '\t']).trim_end();
        let (value, after) = match after.strip_prefix('"') {
            Some(quoted) => unquoted(quoted),
            None => {
                let end = after.find(';').unwrap_or(after.len());
                (after[..end].trim().to_owned(), &after[end..])
            }
        };
        if name.eq_ignore_ascii_case(wanted) {
            return Some(value);
        }
        rest = after;
    }
    None
}

/// Up to the closing quote, and what comes after it. Only a quote is ever behind a backslash: paths of
/// Windows come as they are.
fn unquoted(text: &str) -> (String, &str) {
    let mut value = String::new();
    let mut letters = text.char_indices().peekable();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return (value, &text[at + 1..]),
            '\\' if letters.peek().is_some_and(|(_, next)| *next == '"') => {
                value.extend(letters.next().map(|(_, quote)| quote));
            }
            _ => value.push(letter),
        }
    }
    (value, "")
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    memchr::memmem::find(bytes, wanted)
}

/// RFC 2046, section 5.1.1, has 70.
const LONGEST_BOUNDARY: usize = 200;
const LONGEST_HEAD: usize = 8 << 10;
/// No form of any client has so many.
const MOST_PARTS: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    const FORM: &str = "preamble\r\n--b0\r\nContent-Disposition: form-data; name=\"mode\"\r\n\r\naddfile\r\n\
        --b0\r\nContent-Type: application/x-nzb\r\ncontent-disposition: form-data; name=\"name\"; \
        filename=\"a \\\"b\\\";c.nzb\"\r\n\r\n<nzb>\r\n--b\r\n</nzb>\r\n--b0--\r\n";

    fn shown(bytes: &[u8]) -> Vec<(String, Option<String>, String)> {
        let text = |range: Range<usize>| String::from_utf8_lossy(&bytes[range]).into_owned();
        let show = |part: Part| (part.name, part.file_name, text(part.content));
        parts(bytes, "b0").into_iter().map(show).collect()
    }

    #[test]
    fn fields_and_files_are_told_apart() {
        let expected = [
            ("mode".to_owned(), None, "addfile".to_owned()),
            (
                "name".to_owned(),
                Some("a \"b\";c.nzb".to_owned()),
                "<nzb>\r\n--b\r\n</nzb>".to_owned(),
            ),
        ];
        assert_eq!(shown(FORM.as_bytes()), expected);
    }

    #[test]
    fn a_beginning_has_the_fields_that_are_complete() {
        for end in 0..FORM.len() {
            let found = shown(&FORM.as_bytes()[..end]);
            assert!(found.len() <= 2, "{end}");
            assert!(found.iter().all(|(name, ..)| name == "mode" || end > FORM.len() - 8));
        }
    }

    #[test]
    fn the_boundary_is_read_from_the_content_type() {
        for kind in [
            "multipart/form-data; boundary=b0",
            "Multipart/Form-Data; charset=utf-8; Boundary=\"b0\"",
        ] {
            assert_eq!(boundary(kind).as_deref(), Some("b0"), "{kind}");
        }
        let long = format!("multipart/form-data; boundary={}", "x".repeat(201));
        for kind in [
            "multipart/form-data",
            "multipart/mixed; boundary=b0",
            "multipart/form-data; boundary=",
            &long,
        ] {
            assert_eq!(boundary(kind), None, "{kind}");
        }
    }
}
