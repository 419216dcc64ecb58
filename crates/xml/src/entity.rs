//! [`resolve`]: character and entity references. Pure.
//!
//! XML defines five names; indexers nevertheless use those of HTML in NZBs, and leave ampersands unescaped.

use std::borrow::Cow;

/// The text with its references resolved, and how many names were unknown and kept as written.
pub fn resolve(text: &str) -> (Cow<'_, str>, u64) {
    if !text.contains('&') {
        return (Cow::Borrowed(text), 0);
    }
    let (mut out, mut unknown, mut rest) = (String::with_capacity(text.len()), 0, text);
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let Some(name) = name(rest) else {
            out.push('&');
            continue;
        };
        match character(name) {
            Some(c) => {
                out.push(c);
                rest = &rest[name.len() + 1..];
            }
            None => {
                out.push('&');
                unknown += 1;
            }
        }
    }
    out.push_str(rest);
    (Cow::Owned(out), unknown)
}

/// What stands before the `;`, if that looks like a name at all.
fn name(rest: &str) -> Option<&str> {
    let end = rest.bytes().take(LONGEST_NAME + 1).position(|byte| byte == b';')?;
    let name = rest.get(..end)?;
    let is_word = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'#');
    (is_word && !name.is_empty()).then_some(name)
}

fn character(name: &str) -> Option<char> {
    if let Some(number) = name.strip_prefix('#') {
        return numbered(number);
    }
    if let Some(place) = LATIN_1.iter().position(|known| *known == name) {
        return char::from_u32(0xa0 + place as u32);
    }
    OTHERS.iter().find(|(known, _)| *known == name).map(|(_, c)| *c)
}

/// A number that is no character becomes the replacement character, which no message-id may hold.
fn numbered(number: &str) -> Option<char> {
    let value = match number.strip_prefix(['x', 'X']) {
        Some(digits) => u32::from_str_radix(digits, 16),
        None => number.parse(),
    };
    let c = value.ok().and_then(char::from_u32).filter(|&c| c != '\0');
    Some(c.unwrap_or(char::REPLACEMENT_CHARACTER))
}

const LONGEST_NAME: usize = 10;

/// U+00A0 to U+00FF in order.
const LATIN_1: [&str; 96] = [
    "nbsp", "iexcl", "cent", "pound", "curren", "yen", "brvbar", "sect", "uml", "copy", "ordf",
    "laquo", "not", "shy", "reg", "macr", "deg", "plusmn", "sup2", "sup3", "acute", "micro",
    "para", "middot", "cedil", "sup1", "ordm", "raquo", "frac14", "frac12", "frac34", "iquest",
    "Agrave", "Aacute", "Acirc", "Atilde", "Auml", "Aring", "AElig", "Ccedil", "Egrave", "Eacute",
    "Ecirc", "Euml", "Igrave", "Iacute", "Icirc", "Iuml", "ETH", "Ntilde", "Ograve", "Oacute",
    "Ocirc", "Otilde", "Ouml", "times", "Oslash", "Ugrave", "Uacute", "Ucirc", "Uuml", "Yacute",
    "THORN", "szlig", "agrave", "aacute", "acirc", "atilde", "auml", "aring", "aelig", "ccedil",
    "egrave", "eacute", "ecirc", "euml", "igrave", "iacute", "icirc", "iuml", "eth", "ntilde",
    "ograve", "oacute", "ocirc", "otilde", "ouml", "divide", "oslash", "ugrave", "uacute", "ucirc",
    "uuml", "yacute", "thorn", "yuml",
];

const OTHERS: [(&str, char); 33] = [
    ("amp", '&'),
    ("apos", '\''),
    ("bdquo", '„'),
    ("bull", '•'),
    ("circ", 'ˆ'),
    ("dagger", '†'),
    ("emsp", '\u{2003}'),
    ("ensp", '\u{2002}'),
    ("euro", '€'),
    ("fnof", 'ƒ'),
    ("gt", '>'),
    ("hellip", '…'),
    ("ldquo", '“'),
    ("lsaquo", '‹'),
    ("lsquo", '‘'),
    ("lt", '<'),
    ("mdash", '—'),
    ("ndash", '–'),
    ("OElig", 'Œ'),
    ("oelig", 'œ'),
    ("permil", '‰'),
    ("quot", '"'),
    ("rdquo", '”'),
    ("rsaquo", '›'),
    ("rsquo", '’'),
    ("sbquo", '‚'),
    ("Scaron", 'Š'),
    ("scaron", 'š'),
    ("thinsp", '\u{2009}'),
    ("tilde", '˜'),
    ("trade", '™'),
    ("Yuml", 'Ÿ'),
    ("zwnj", '\u{200c}'),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_resolved_or_kept() {
        for (text, resolved, unknown) in [
            ("a &amp; b &quot;c&quot;", "a & b \"c\"", 0),
            ("&auml;&Ouml;&szlig;&yuml;&nbsp;", "äÖßÿ\u{a0}", 0),
            ("&#228;&#xE4;&#x1F600;", "ää😀", 0),
            ("&#0;&#xD800;&#99999999999;", "\u{fffd}\u{fffd}&#99999999999;", 0),
            ("&foo; &laughs;", "&foo; &laughs;", 2),
            ("a & b && c; &; &ä;", "a & b && c; &; &ä;", 0),
            ("&amp;auml;", "&auml;", 0),
            ("&", "&", 0),
        ] {
            let (out, count) = resolve(text);
            assert_eq!((out.as_ref(), count), (resolved, unknown), "{text:?}");
        }
    }
}
