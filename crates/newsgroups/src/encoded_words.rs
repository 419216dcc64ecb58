//! [`decoded`]: decodes `=?utf-8?B?...?=` words in headers (RFC 2047).

use std::borrow::Cow;

use encoding_rs::Encoding;

/// `text` with its encoded words read; what is none stays as it is.
pub(crate) fn decoded(text: &str) -> Cow<'_, str> {
    if !text.contains("=?") {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut run = Run::default();
    while let Some(start) = rest.find("=?") {
        let (before, from) = rest.split_at(start);
        let Some((word, behind)) = Word::parse(from) else {
            run.end(&mut out);
            out.push_str(&rest[..start + 2]);
            rest = &from[2..];
            continue;
        };
        // Blanks between two encoded words only separate them.
        if !(run.is_open() && before.trim_matches([' ', '\t']).is_empty()) {
            run.end(&mut out);
            out.push_str(before);
        }
        run.push(&word, &mut out);
        rest = behind;
    }
    run.end(&mut out);
    out.push_str(rest);
    Cow::Owned(out)
}

/// Words of one charset in a row: a letter may begin in one and end in the next.
#[derive(Default)]
struct Run {
    encoding: Option<&'static Encoding>,
    bytes: Vec<u8>,
}

impl Run {
    fn is_open(&self) -> bool {
        self.encoding.is_some()
    }

    fn push(&mut self, word: &Word, out: &mut String) {
        if self.encoding != Some(word.encoding) {
            self.end(out);
            self.encoding = Some(word.encoding);
        }
        self.bytes.extend_from_slice(&word.bytes);
    }

    fn end(&mut self, out: &mut String) {
        if let Some(encoding) = self.encoding.take() {
            out.push_str(&encoding.decode_without_bom_handling(&self.bytes).0);
            self.bytes.clear();
        }
    }
}

struct Word {
    encoding: &'static Encoding,
    bytes: Vec<u8>,
}

impl Word {
    /// The word at the beginning of `text`, and what follows it.
    fn parse(text: &str) -> Option<(Self, &str)> {
        let (charset, rest) = text.strip_prefix("=?")?.split_once('?')?;
        let (method, rest) = rest.split_once('?')?;
        let (content, behind) = rest.split_once("?=")?;
        // A language may follow the charset (RFC 2231, section 5).
        let charset = charset.split('*').next()?;
        let encoding = Encoding::for_label(charset.as_bytes())?;
        let bytes = match method {
            "B" | "b" => base64(content)?,
            "Q" | "q" => quoted(content),
            _ => return None,
        };
        Some((Self { encoding, bytes }, behind))
    }
}

/// Padding is not asked for: words are cut in odd places.
fn base64(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let (mut held, mut bits) = (0_u32, 0);
    for byte in text.bytes().filter(|&byte| byte != b'=') {
        held = (held << 6 | u32::from(sextet(byte)?)) & 0xffff;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push((held >> bits) as u8);
        }
    }
    Some(bytes)
}

fn sextet(byte: u8) -> Option<u8> {
    match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    }
}

fn quoted(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, behind)) = rest.split_first() {
        rest = behind;
        match (byte, behind) {
            (b'_', _) => bytes.push(b' '),
            (b'=', [high, low, behind @ ..])
                if let (Some(high), Some(low)) = (hex(*high), hex(*low)) =>
            {
                bytes.push(high << 4 | low);
                rest = behind;
            }
            _ => bytes.push(byte),
        }
    }
    bytes
}

fn hex(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).map(|digit| digit as u8)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn words_of_any_charset_are_read() {
        for (text, expected) in [
            ("plain", "plain"),
            ("=?utf-8?B?w6Qgw7Y=?= end", "ä ö end"),
            ("=?UTF-8?b?w6Q?=", "ä"),
            ("a =?iso-8859-1?Q?caf=E9_au?= lait", "a café au lait"),
            ("=?utf-8?Q?a?= =?utf-8?Q?b?=", "ab"),
            ("=?utf-8?Q?=C3?= =?utf-8?Q?=A4?=", "ä"),
            ("=?utf-8?Q?a?= b =?utf-8?Q?c?=", "a b c"),
            ("=?utf-8?Q?a?= =?koi8-r?B?8NLJ18XU?=", "aПривет"),
            ("=?utf-8*de?Q?=C3=A4?=", "ä"),
            ("=?utf-8?Q?=zz=4?=", "=zz=4"),
        ] {
            assert_eq!(decoded(text), expected, "{text}");
        }
    }

    #[test]
    fn what_is_no_encoded_word_stays() {
        for text in [
            "=?",
            "=?x",
            "=?utf-8?Q?open",
            "=?nonsense?Q?a?=",
            "=?utf-8?X?a?=",
            "=?utf-8?B?*?=",
            "1=?2",
        ] {
            assert_eq!(decoded(text), text);
        }
    }

    proptest! {
        #[test]
        fn no_text_is_too_odd(text in "[=?a-cQBqb_ 0-9\u{e4}*]{0,60}") {
            decoded(&text);
        }
    }
}
