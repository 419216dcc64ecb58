//! [`read_call`]: reads an XML-RPC call into a method name and [`Json`] parameters.
//!
//! No DTDs and no entities but the five predefined ones. Depth and number of values are bounded here, the size by the
//! limit of the request body.

use std::borrow::Cow;

use bergamot_types::Shown;
use quick_xml::Reader;
use quick_xml::events::{BytesRef, Event};

use crate::call::bounds;
use crate::call::fault::Fault;
use crate::codec::json::Json;
use crate::codec::shape::{DEEPEST, Excess, MOST_VALUES, Shape};

#[derive(Debug, PartialEq)]
pub(crate) struct MethodCall {
    pub(crate) method: String,
    pub(crate) params: Vec<Json<'static>>,
}

/// The parameters are read only if the method is permitted.
pub(crate) fn read_call(
    text: &[u8],
    permit: impl FnOnce(&str) -> Result<(), Fault>,
) -> Result<MethodCall, Fault> {
    Shape::xml().handle_input(text)?;
    let text = std::str::from_utf8(text).map_err(|_| malformed("not UTF-8"))?;
    let mut reader = Reader::from_str(text);
    reader.config_mut().expand_empty_elements = true;
    let mut tokens = Tokens { reader, values: 0 };
    tokens.expect_start("methodCall")?;
    tokens.expect_start("methodName")?;
    let method = tokens.text_until("methodName")?.trim().to_owned();
    permit(&method)?;
    let mut params = Vec::new();
    match tokens.tag()? {
        Tag::Start(name) if name == "params" => {
            while tokens.starts("param", "params")? {
                tokens.expect_start("value")?;
                params.push(tokens.value(0)?);
                tokens.expect_end("param")?;
            }
            tokens.expect_end("methodCall")?;
        }
        Tag::End(name) if name == "methodCall" => {}
        other => return Err(other.unexpected()),
    }
    Ok(MethodCall { method, params })
}

/// The tags of a document, with blanks between them left out.
struct Tokens<'a> {
    reader: Reader<&'a [u8]>,
    values: usize,
}

enum Tag {
    Start(String),
    End(String),
}

impl Tag {
    fn unexpected(&self) -> Fault {
        let (slash, name) = match self {
            Self::Start(name) => ("", name),
            Self::End(name) => ("/", name),
        };
        let name: String = name.chars().take(32).collect();
        malformed(&format!("<{slash}{name}> where it does not belong"))
    }
}

impl Tokens<'_> {
    /// Text up to the next tag, and that tag.
    fn next(&mut self) -> Result<(String, Tag), Fault> {
        let mut text = String::new();
        loop {
            let event = self.reader.read_event().map_err(|error| malformed(&error.to_string()))?;
            match event {
                Event::Start(tag) => return Ok((text, Tag::Start(local(tag.name().as_ref())))),
                Event::End(tag) => return Ok((text, Tag::End(local(tag.name().as_ref())))),
                Event::Text(more) => text.push_str(&more),
                Event::CData(more) => text.push_str(&more),
                Event::GeneralRef(name) => text.push(resolved(&name)?),
                Event::DocType(_) => return Err(malformed("a document type is not accepted")),
                Event::Eof => return Err(malformed("it ends too early")),
                Event::Empty(_) | Event::Comment(_) | Event::Decl(_) | Event::PI(_) => {}
            }
        }
    }

    fn tag(&mut self) -> Result<Tag, Fault> {
        let (text, tag) = self.next()?;
        if text.trim().is_empty() { Ok(tag) } else { Err(malformed("text between tags")) }
    }

    fn expect_start(&mut self, wanted: &str) -> Result<(), Fault> {
        match self.tag()? {
            Tag::Start(name) if name == wanted => Ok(()),
            other => Err(other.unexpected()),
        }
    }

    fn expect_end(&mut self, wanted: &str) -> Result<(), Fault> {
        match self.tag()? {
            Tag::End(name) if name == wanted => Ok(()),
            other => Err(other.unexpected()),
        }
    }

    /// Whether another `item` begins, or the `list` ends.
    fn starts(&mut self, item: &str, list: &str) -> Result<bool, Fault> {
        match self.tag()? {
            Tag::Start(name) if name == item => Ok(true),
            Tag::End(name) if name == list => Ok(false),
            other => Err(other.unexpected()),
        }
    }

    fn text_until(&mut self, wanted: &str) -> Result<String, Fault> {
        match self.next()? {
            (text, Tag::End(name)) if name == wanted => Ok(text),
            (_, other) => Err(other.unexpected()),
        }
    }

    /// What stands between `<value>` and `</value>`, including the latter.
    fn value(&mut self, depth: usize) -> Result<Json<'static>, Fault> {
        if depth > DEEPEST {
            return Err(malformed("too many levels deep"));
        }
        self.values += 1;
        if self.values > MOST_VALUES {
            return Err(Excess::Values.into());
        }
        let kind = match self.next()? {
            // Without a type it is text.
            (text, Tag::End(name)) if name == "value" => return Ok(Json::Text(text.into())),
            (text, Tag::Start(name)) if text.trim().is_empty() => name,
            (_, other) => return Err(other.unexpected()),
        };
        let value = match kind.as_str() {
            "array" => self.array(depth)?,
            "struct" => self.structure(depth)?,
            _ => scalar(&kind, self.text_until(&kind)?)?,
        };
        self.expect_end("value")?;
        Ok(value)
    }

    fn array(&mut self, depth: usize) -> Result<Json<'static>, Fault> {
        let mut list = Vec::new();
        self.expect_start("data")?;
        while self.starts("value", "data")? {
            list.push(self.value(depth + 1)?);
        }
        self.expect_end("array")?;
        Ok(Json::List(list))
    }

    fn structure(&mut self, depth: usize) -> Result<Json<'static>, Fault> {
        let mut fields: Vec<(Cow<'static, str>, Json<'static>)> = Vec::new();
        while self.starts("member", "struct")? {
            self.expect_start("name")?;
            let name = self.text_until("name")?;
            self.expect_start("value")?;
            let value = self.value(depth + 1)?;
            self.expect_end("member")?;
            if fields.len() == MOST_MEMBERS || fields.iter().any(|(known, _)| *known == name) {
                return Err(malformed("a struct with too many members, or one of them twice"));
            }
            fields.push((name.into(), value));
        }
        Ok(Json::Object(fields))
    }
}

fn scalar(kind: &str, text: String) -> Result<Json<'static>, Fault> {
    let wrong = || malformed(&format!("<{kind}> holds none"));
    Ok(match kind {
        "int" | "i4" | "i8" => {
            Json::Integer(text.trim().parse::<i64>().map_err(|_| wrong())?.into())
        }
        "boolean" => match text.trim() {
            "0" => Json::Bool(false),
            "1" => Json::Bool(true),
            _ => return Err(wrong()),
        },
        "double" => {
            let number: f64 = text.trim().parse().map_err(|_| wrong())?;
            if number.is_finite() { Json::Float(number) } else { return Err(wrong()) }
        }
        "string" | "dateTime.iso8601" => Json::Text(text.into()),
        // What is in there is text in all methods of ours; an NZB stays in base64.
        "base64" => match String::from_utf8(bounds::base64(&text)?) {
            Ok(plain) if !plain.trim_start_matches('\u{feff}').starts_with('<') => {
                Json::Text(plain.into())
            }
            _ => Json::Text(text.into()),
        },
        "nil" => Json::Null,
        _ => return Err(malformed("a type that XML-RPC does not have")),
    })
}

fn resolved(name: &BytesRef<'_>) -> Result<char, Fault> {
    if let Ok(Some(c)) = name.resolve_char_ref() {
        return Ok(c);
    }
    match &**name {
        "amp" => Ok('&'),
        "apos" => Ok('\''),
        "gt" => Ok('>'),
        "lt" => Ok('<'),
        "quot" => Ok('"'),
        _ => Err(malformed("an entity that XML does not have")),
    }
}

fn local(name: &str) -> String {
    name.to_owned()
}

/// What was sent may be part of the text.
fn malformed(what: &str) -> Fault {
    Fault::MalformedXml(Shown(what).to_string())
}

/// Names are compared one by one, so there must be few.
const MOST_MEMBERS: usize = 256;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn one(value: &str) -> Result<Json<'static>, Fault> {
        let text = format!(
            "<?xml version='1.0'?>\n<methodCall>\n<methodName>m</methodName><params><param>{value}</param></params></methodCall>\n"
        );
        read_call(text.as_bytes(), |_| Ok(())).map(|mut call| call.params.remove(0))
    }

    #[test]
    fn all_types_in_use_are_read() {
        for (value, json) in [
            ("<value><int>-5</int></value>", "-5"),
            ("<value><i4> 7 </i4></value>", "7"),
            ("<value><i8>4294967296</i8></value>", "4294967296"),
            ("<value><boolean>1</boolean></value>", "true"),
            ("<value><double>1.5</double></value>", "1.5"),
            ("<value><string>a &amp; &#65;<![CDATA[<b>]]></string></value>", r#""a & A<b>""#),
            ("<value>bare</value>", r#""bare""#),
            ("<value><string/></value>", r#""""#),
            ("<value></value>", r#""""#),
            ("<value><nil/></value>", "null"),
            ("<value><base64>aGVsbG8=</base64></value>", r#""hello""#),
            ("<value><base64>PG56Yi8+</base64></value>", r#""PG56Yi8+""#),
            ("<value> <array><data><value><int>1</int></value> </data></array> </value>", "[1]"),
            (
                "<value><struct><member><name>a</name><value>b</value></member></struct></value>",
                r#"{"a":"b"}"#,
            ),
        ] {
            let read = one(value).unwrap_or_else(|fault| panic!("{value}: {fault}"));
            assert_eq!(serde_json::to_string(&read).expect("JSON"), json, "{value}");
        }
        let bare = b"<methodCall><methodName> status </methodName></methodCall>";
        assert_eq!(read_call(bare, |_| Ok(())).expect("a call").method, "status");
    }

    #[test]
    fn what_is_no_call_is_refused() {
        for value in [
            "<value><int>x</int></value>",
            "<value><float>1</float></value>",
            "<value><string>&unheard;</string></value>",
            "<value><int>1</int>",
            "<value><double>inf</double></value>",
            "text",
        ] {
            assert!(one(value).is_err(), "{value}");
        }
        let bomb =
            "<!DOCTYPE a [<!ENTITY b \"x\">]><methodCall><methodName>&b;</methodName></methodCall>";
        assert!(read_call(bomb.as_bytes(), |_| Ok(())).is_err());
        let deep = "<value><array><data>".repeat(10_000);
        assert!(one(&deep).is_err());
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes: Vec<u8>, tags in "(<(/)?(methodCall|methodName|params|param|value|array|data|struct|member|name|int)>|&lt;|x){0,30}") {
            let _ = read_call(&bytes, |_| Ok(()));
            let _ = read_call(tags.as_bytes(), |_| Ok(()));
        }
    }
}
