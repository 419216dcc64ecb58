//! [`write_value`]: a serde serializer that writes XML-RPC values, so that results have one description for both formats.

use std::fmt::{self, Display, Write as _};
use std::io::Write as _;

use serde::ser::{
    Impossible, Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeTuple,
    SerializeTupleStruct, Serializer,
};

/// Writes `<value>…</value>`.
pub(crate) fn write_value(out: &mut Vec<u8>, value: &(impl Serialize + ?Sized)) {
    out.extend_from_slice(b"<value>");
    value.serialize(Typed(out)).expect("our own values have text for keys, and a vector takes all");
    out.extend_from_slice(b"</value>");
}

pub(crate) fn write_text(out: &mut Vec<u8>, text: &str) {
    for c in text.chars() {
        match c {
            '&' => out.extend_from_slice(b"&amp;"),
            '<' => out.extend_from_slice(b"&lt;"),
            '>' => out.extend_from_slice(b"&gt;"),
            // A bare CR would be read as LF.
            '\r' => out.extend_from_slice(b"&#13;"),
            '\t' | '\n' => out.push(c as u8),
            // XML 1.0 has no way to write these (section 2.2).
            '\0'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => out.push(b'?'),
            _ => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
}

/// The inside of a `<value>`.
struct Typed<'a>(&'a mut Vec<u8>);

/// Items of an array, or members of a struct, and what ends them.
pub(crate) struct Parts<'a> {
    out: &'a mut Vec<u8>,
    end: &'static [u8],
    key: String, // of the member whose value is due
}

/// Only a key that is no text is an error, and there is none.
#[derive(Debug)]
pub(crate) struct NotWritten(String);

impl Display for NotWritten {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NotWritten {}

impl serde::ser::Error for NotWritten {
    fn custom<T: Display>(message: T) -> Self {
        let mut text = String::new();
        let _ = write!(text, "{message}");
        Self(text)
    }
}

impl<'a> Typed<'a> {
    fn scalar(self, kind: &str, value: impl Display) -> Result<(), NotWritten> {
        write!(self.0, "<{kind}>{value}</{kind}>").map_err(serde::ser::Error::custom)
    }

    fn array(self) -> Parts<'a> {
        self.0.extend_from_slice(b"<array><data>");
        Parts { out: self.0, end: b"</data></array>", key: String::new() }
    }

    fn structure(self) -> Parts<'a> {
        self.0.extend_from_slice(b"<struct>");
        Parts { out: self.0, end: b"</struct>", key: String::new() }
    }
}

impl Parts<'_> {
    fn member(&mut self, name: &str, value: &(impl Serialize + ?Sized)) {
        self.out.extend_from_slice(b"<member><name>");
        write_text(self.out, name);
        self.out.extend_from_slice(b"</name>");
        write_value(self.out, value);
        self.out.extend_from_slice(b"</member>");
    }

    fn finish(self) -> Result<(), NotWritten> {
        self.out.extend_from_slice(self.end);
        Ok(())
    }
}

impl<'a> Serializer for Typed<'a> {
    type Ok = ();
    type Error = NotWritten;
    type SerializeSeq = Parts<'a>;
    type SerializeTuple = Parts<'a>;
    type SerializeTupleStruct = Parts<'a>;
    type SerializeTupleVariant = Impossible<(), NotWritten>;
    type SerializeMap = Parts<'a>;
    type SerializeStruct = Parts<'a>;
    type SerializeStructVariant = Impossible<(), NotWritten>;

    fn serialize_bool(self, value: bool) -> Result<(), NotWritten> {
        self.scalar("boolean", u8::from(value))
    }

    fn serialize_i8(self, value: i8) -> Result<(), NotWritten> {
        self.scalar("i4", value)
    }

    fn serialize_i16(self, value: i16) -> Result<(), NotWritten> {
        self.scalar("i4", value)
    }

    fn serialize_i32(self, value: i32) -> Result<(), NotWritten> {
        self.scalar("i4", value)
    }

    fn serialize_u8(self, value: u8) -> Result<(), NotWritten> {
        self.scalar("i4", value)
    }

    fn serialize_u16(self, value: u16) -> Result<(), NotWritten> {
        self.scalar("i4", value)
    }

    fn serialize_u32(self, value: u32) -> Result<(), NotWritten> {
        self.scalar("i4", value)
    }

    /// `i8` is an extension that not every client supports, so it is used only for large values.
    fn serialize_i64(self, value: i64) -> Result<(), NotWritten> {
        let fits = (i64::from(i32::MIN)..=i64::from(u32::MAX)).contains(&value);
        self.scalar(if fits { "i4" } else { "i8" }, value)
    }

    fn serialize_u64(self, value: u64) -> Result<(), NotWritten> {
        self.scalar(if value <= u64::from(u32::MAX) { "i4" } else { "i8" }, value)
    }

    fn serialize_f32(self, value: f32) -> Result<(), NotWritten> {
        self.scalar("double", value)
    }

    fn serialize_f64(self, value: f64) -> Result<(), NotWritten> {
        self.scalar("double", value)
    }

    fn serialize_char(self, value: char) -> Result<(), NotWritten> {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, text: &str) -> Result<(), NotWritten> {
        self.0.extend_from_slice(b"<string>");
        write_text(self.0, text);
        self.0.extend_from_slice(b"</string>");
        Ok(())
    }

    fn serialize_bytes(self, bytes: &[u8]) -> Result<(), NotWritten> {
        bytes.serialize(self)
    }

    fn serialize_none(self) -> Result<(), NotWritten> {
        self.serialize_unit()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), NotWritten> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), NotWritten> {
        self.0.extend_from_slice(b"<nil/>");
        Ok(())
    }

    fn serialize_unit_struct(self, _name: &'static str) -> Result<(), NotWritten> {
        self.serialize_unit()
    }

    fn serialize_unit_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
    ) -> Result<(), NotWritten> {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        value: &T,
    ) -> Result<(), NotWritten> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), NotWritten> {
        let mut parts = self.structure();
        parts.member(variant, value);
        parts.finish()
    }

    fn serialize_seq(self, _length: Option<usize>) -> Result<Parts<'a>, NotWritten> {
        Ok(self.array())
    }

    fn serialize_tuple(self, _length: usize) -> Result<Parts<'a>, NotWritten> {
        Ok(self.array())
    }

    fn serialize_tuple_struct(
        self,
        _name: &'static str,
        _length: usize,
    ) -> Result<Parts<'a>, NotWritten> {
        Ok(self.array())
    }

    fn serialize_tuple_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        _length: usize,
    ) -> Result<Self::SerializeTupleVariant, NotWritten> {
        Err(serde::ser::Error::custom(variant))
    }

    fn serialize_map(self, _length: Option<usize>) -> Result<Parts<'a>, NotWritten> {
        Ok(self.structure())
    }

    fn serialize_struct(
        self,
        _name: &'static str,
        _length: usize,
    ) -> Result<Parts<'a>, NotWritten> {
        Ok(self.structure())
    }

    fn serialize_struct_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        _length: usize,
    ) -> Result<Self::SerializeStructVariant, NotWritten> {
        Err(serde::ser::Error::custom(variant))
    }
}

impl SerializeSeq for Parts<'_> {
    type Ok = ();
    type Error = NotWritten;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), NotWritten> {
        write_value(self.out, value);
        Ok(())
    }

    fn end(self) -> Result<(), NotWritten> {
        self.finish()
    }
}

impl SerializeTuple for Parts<'_> {
    type Ok = ();
    type Error = NotWritten;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), NotWritten> {
        write_value(self.out, value);
        Ok(())
    }

    fn end(self) -> Result<(), NotWritten> {
        self.finish()
    }
}

impl SerializeTupleStruct for Parts<'_> {
    type Ok = ();
    type Error = NotWritten;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), NotWritten> {
        write_value(self.out, value);
        Ok(())
    }

    fn end(self) -> Result<(), NotWritten> {
        self.finish()
    }
}

impl SerializeMap for Parts<'_> {
    type Ok = ();
    type Error = NotWritten;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), NotWritten> {
        // Keys are text; as JSON they are that text in quotation marks.
        let text = serde_json::to_string(key).map_err(serde::ser::Error::custom)?;
        self.key = serde_json::from_str(&text).map_err(serde::ser::Error::custom)?;
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), NotWritten> {
        let key = std::mem::take(&mut self.key);
        self.member(&key, value);
        Ok(())
    }

    fn end(self) -> Result<(), NotWritten> {
        self.finish()
    }
}

impl SerializeStruct for Parts<'_> {
    type Ok = ();
    type Error = NotWritten;

    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        key: &'static str,
        value: &T,
    ) -> Result<(), NotWritten> {
        self.member(key, value);
        Ok(())
    }

    fn end(self) -> Result<(), NotWritten> {
        self.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(value: impl Serialize) -> String {
        let mut out = Vec::new();
        write_value(&mut out, &value);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn values_have_the_types_clients_know() {
        assert_eq!(written(true), "<value><boolean>1</boolean></value>");
        assert_eq!(written(u32::MAX), "<value><i4>4294967295</i4></value>");
        assert_eq!(written(1u64 << 32), "<value><i8>4294967296</i8></value>");
        assert_eq!(
            written("a<b>&\r\u{1}"),
            "<value><string>a&lt;b&gt;&amp;&#13;?</string></value>"
        );
        assert_eq!(written(None::<u8>), "<value><nil/></value>");
        assert_eq!(
            written([1, 2]),
            "<value><array><data><value><i4>1</i4></value><value><i4>2</i4></value></data></array></value>"
        );
        assert_eq!(
            written(std::collections::BTreeMap::from([("a", 1)])),
            "<value><struct><member><name>a</name><value><i4>1</i4></value></member></struct></value>"
        );
    }
}
