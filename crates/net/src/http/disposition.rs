//! The name that a server gives to what it sends: the `Content-Disposition` header (RFC 6266).

use bergamot_types::percent_decode;

/// The file's name as the header has it, which may be any text: it is not checked yet.
pub fn file_name(header: &str) -> Option<String> {
    let mut plain = None;
    for (name, value) in Parameters(header.split_once(';')?.1) {
        if name.eq_ignore_ascii_case("filename*") {
            if let Some(name) = extended(&value) {
                return Some(name);
            }
        } else if name.eq_ignore_ascii_case("filename") && plain.is_none() {
            plain = Some(value).filter(|value| !value.is_empty());
        }
    }
    plain
}

/// `UTF-8'en'caf%C3%A9.nzb` (RFC 8187).
fn extended(value: &str) -> Option<String> {
    let mut parts = value.splitn(3, '\'');
    let (charset, _language, text) = (parts.next()?, parts.next()?, parts.next()?);
    let bytes = percent_decode(text);
    let name = if charset.eq_ignore_ascii_case("UTF-8") {
        String::from_utf8(bytes).ok()?
    } else if charset.eq_ignore_ascii_case("ISO-8859-1") {
        bytes.into_iter().map(char::from).collect()
    } else {
        return None;
    };
    Some(name).filter(|name| !name.is_empty())
}

/// `a=b; c="d"`, also with blanks where there should be none, and a quote that is never closed.
struct Parameters<'a>(&'a str);

impl Iterator for Parameters<'_> {
    type Item = (String, String);

    fn next(&mut self) -> Option<Self::Item> {
        let (name, rest) = self.0.split_once('=')?;
        let rest = rest.trim_start();
        let (value, rest) = match rest.strip_prefix('"') {
            Some(quoted) => unquoted(quoted),
            None => {
                let (value, rest) = rest.split_at(rest.find(';').unwrap_or(rest.len()));
                (value.trim().to_owned(), rest)
            }
        };
        self.0 = rest.split_once(';').map_or("", |(_, behind)| behind);
        Some((name.trim().to_owned(), value))
    }
}

/// The text up to the closing quote, and what follows that.
fn unquoted(text: &str) -> (String, &str) {
    let mut value = String::new();
    let mut letters = text.char_indices();
    while let Some((place, letter)) = letters.next() {
        match letter {
            '"' => return (value, &text[place + 1..]),
            '\\' => value.extend(letters.next().map(|(_, escaped)| escaped)),
            _ => value.push(letter),
        }
    }
    (value, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_as_servers_write_them() {
        for (header, name) in [
            ("attachment; filename=a.nzb", Some("a.nzb")),
            ("attachment; filename=\"a b; c.nzb\"", Some("a b; c.nzb")),
            ("attachment; filename=\"a \\\"b\\\".nzb\"; size=3", Some("a \"b\".nzb")),
            ("attachment; filename=a b.nzb ; x=y", Some("a b.nzb")),
            ("attachment;filename = \"a.nzb", Some("a.nzb")),
            ("inline; filename=a.nzb; FILENAME*=utf-8''%c3%a4.nzb", Some("ä.nzb")),
            ("attachment; filename*=iso-8859-1'en'%e4.nzb", Some("ä.nzb")),
            ("attachment; filename*=utf-8''%ff; filename=a.nzb", Some("a.nzb")),
            ("attachment; filename*=koi8-r''x; filename=\"\"", None),
            ("attachment", None),
            ("", None),
        ] {
            assert_eq!(file_name(header).as_deref(), name, "{header}");
        }
    }
}
