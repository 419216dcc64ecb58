//! The control lines of yEnc: `=ybegin`, `=ypart` and `=yend`.
//!
//! Fields are `key=value` in any order; only `name=` is different and takes the rest of its line.
//! `line=` is not read at all: lines end where they end.

/// `=ybegin`: what the whole file is.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct Begin {
    pub(crate) name: Option<String>,
    pub(crate) part: Field<u32>,
    pub(crate) total: Field<u32>,
    pub(crate) size: Field<u64>,
}

/// `=ypart`: where in the file the part lies, counted from 1, both ends included.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct Placing {
    pub(crate) begin: Field<u64>,
    pub(crate) end: Field<u64>,
}

/// `=yend`: what the data must amount to.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct Trailer {
    pub(crate) size: Field<u64>,
    pub(crate) part_crc: Option<u32>,
    pub(crate) crc: Option<u32>,
}

/// A number of a control line.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) enum Field<T> {
    #[default]
    Absent,
    /// The text, cut to what an error needs.
    Bad(String),
    Good(T),
}

impl<T: Copy> Field<T> {
    pub(crate) fn good(&self) -> Option<T> {
        match self {
            Self::Good(value) => Some(*value),
            _ => None,
        }
    }
}

impl<T: ToString> Field<T> {
    /// The value as it stood in the line.
    pub(crate) fn stated(&self) -> String {
        match self {
            Self::Absent => "absent".to_owned(),
            Self::Bad(text) => text.clone(),
            Self::Good(value) => value.to_string(),
        }
    }
}

/// A control line by its keyword.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Control {
    Begin(Begin),
    End(Trailer),
    Part(Placing),
    Unknown,
}

impl Control {
    pub(crate) fn parse(line: &[u8]) -> Self {
        let (keyword, fields) = split_keyword(line);
        match keyword {
            b"=ybegin" => Self::Begin(begin(fields)),
            b"=yend" => Self::End(trailer(fields)),
            b"=ypart" => {
                Self::Part(Placing { begin: number(fields, b"begin"), end: number(fields, b"end") })
            }
            _ => Self::Unknown,
        }
    }
}

pub(crate) fn is_begin(line: &[u8]) -> bool {
    split_keyword(line).0 == b"=ybegin"
}

fn split_keyword(line: &[u8]) -> (&[u8], &[u8]) {
    let end = line.iter().position(|&byte| is_blank(byte)).unwrap_or(line.len());
    line.split_at(end)
}

fn begin(fields: &[u8]) -> Begin {
    let (fields, name) = split_name(fields);
    Begin {
        name: name.and_then(clean_name),
        part: number(fields, b"part"),
        total: number(fields, b"total"),
        size: number(fields, b"size"),
    }
}

fn trailer(fields: &[u8]) -> Trailer {
    Trailer {
        size: number(fields, b"size"),
        part_crc: values(fields, b"pcrc32").next().and_then(parse_crc),
        crc: values(fields, b"crc32").next().and_then(parse_crc),
    }
}

/// The name may hold blanks and things that look like fields, so it is cut off first.
fn split_name(fields: &[u8]) -> (&[u8], Option<&[u8]>) {
    match key_ends(fields, b"name").next() {
        Some(end) => (&fields[..end - b"name=".len()], Some(&fields[end..])),
        None => (fields, None),
    }
}

fn clean_name(raw: &[u8]) -> Option<String> {
    let trimmed = raw.trim_ascii();
    let bare = match trimmed {
        [b'"', inner @ .., b'"'] => inner,
        _ => trimmed,
    };
    (!bare.is_empty()).then(|| String::from_utf8_lossy(bare).into_owned())
}

/// A key given twice counts only if both say the same.
fn number<T: std::str::FromStr + PartialEq>(fields: &[u8], key: &[u8]) -> Field<T> {
    let mut found = values(fields, key).map(parse_number);
    let Some(first) = found.next() else { return Field::Absent };
    match found.find(|other| *other != first) {
        Some(_) => Field::Bad("given twice".to_owned()),
        None => first,
    }
}

fn parse_number<T: std::str::FromStr>(text: &[u8]) -> Field<T> {
    let digits = std::str::from_utf8(text).ok().filter(|t| t.bytes().all(|b| b.is_ascii_digit()));
    match digits.and_then(|digits| digits.parse().ok()) {
        Some(value) => Field::Good(value),
        None => Field::Bad(String::from_utf8_lossy(&text[..text.len().min(SHOWN)]).into_owned()),
    }
}

/// Writers differ: 1 to 8 digits, a sign-extended 16, `0x`, capitals. The low 32 bits count; what
/// is not hexadecimal is no CRC.
fn parse_crc(text: &[u8]) -> Option<u32> {
    let digits = text.strip_prefix(b"0x").or(text.strip_prefix(b"0X")).unwrap_or(text);
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0_u32, |crc, &digit| {
        let value = (digit as char).to_digit(16)?;
        Some(crc << 4 | value)
    })
}

/// The values of a key; blanks between `=` and the value are skipped.
fn values<'a>(fields: &'a [u8], key: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
    key_ends(fields, key).map(|end| {
        let value = fields[end..].trim_ascii_start();
        &value[..value.iter().position(|&byte| is_blank(byte)).unwrap_or(value.len())]
    })
}

/// Where the value of each `key=` starts, if the key stands behind a blank.
fn key_ends<'a>(fields: &'a [u8], key: &'a [u8]) -> impl Iterator<Item = usize> {
    (0..fields.len()).filter_map(move |start| {
        let after_blank = start > 0 && is_blank(fields[start - 1]);
        let rest = fields[start..].strip_prefix(key)?;
        (after_blank && rest.first() == Some(&b'=')).then_some(start + key.len() + 1)
    })
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

/// Enough of a bad value to know it again.
const SHOWN: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed_begin(line: &str) -> Begin {
        match Control::parse(line.as_bytes()) {
            Control::Begin(begin) => begin,
            other => panic!("{other:?}"),
        }
    }

    fn parsed_end(line: &str) -> Trailer {
        match Control::parse(line.as_bytes()) {
            Control::End(trailer) => trailer,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_name_is_the_rest_of_the_line() {
        for (line, name) in [
            ("=ybegin line=128 size=1 name=a b size=9.bin  ", Some("a b size=9.bin")),
            ("=ybegin line=128 size=1 name=\"quoted.bin\"", Some("quoted.bin")),
            ("=ybegin line=128 size=1 name=../../etc/x", Some("../../etc/x")),
            ("=ybegin line=128 size=1 name=", None),
            ("=ybegin line=128 size=1", None),
        ] {
            let begin = parsed_begin(line);
            assert_eq!((begin.name.as_deref(), begin.size), (name, Field::Good(1)), "{line}");
        }
    }

    #[test]
    fn numbers_are_digits_or_bad() {
        for (text, size) in [
            ("size=0", Field::Good(0)),
            ("size=18446744073709551615", Field::Good(u64::MAX)),
            ("size=18446744073709551616", Field::Bad("18446744073709551616".into())),
            ("size=-1", Field::Bad("-1".into())),
            ("size=+1", Field::Bad("+1".into())),
            ("size=", Field::Bad("".into())),
            ("size=5 size=5", Field::Good(5)),
            ("size=5 size=6", Field::Bad("given twice".into())),
            ("xsize=5", Field::Absent),
        ] {
            assert_eq!(parsed_begin(&format!("=ybegin {text} name=x")).size, size, "{text}");
        }
    }

    #[test]
    fn crcs_are_read_as_writers_write_them() {
        for (text, crc) in [
            ("79b5066a", Some(0x79b5066a)),
            ("79B5066A", Some(0x79b5066a)),
            ("0x79b5066a", Some(0x79b5066a)),
            ("   79b5066a  ", Some(0x79b5066a)),
            ("ffffffff79b5066a", Some(0x79b5066a)),
            ("6a", Some(0x6a)),
            ("0", Some(0)),
            ("nonsense", None),
            ("", None),
            ("0x", None),
        ] {
            let trailer = parsed_end(&format!("=yend size=1 pcrc32={text}"));
            assert_eq!((trailer.part_crc, trailer.crc), (crc, None), "{text:?}");
        }
        let both = parsed_end("=yend size=1 part=1 pcrc32= crc32=2");
        assert_eq!((both.part_crc, both.crc), (None, Some(2)));
    }

    #[test]
    fn only_whole_keywords_count() {
        assert_eq!(Control::parse(b"=yending size=1"), Control::Unknown);
        assert!(is_begin(b"=ybegin line=128"));
        assert!(!is_begin(b"=ybegins line=128"));
    }
}
