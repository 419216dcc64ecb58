//! Entry points for the fuzz targets: each function runs one codec on arbitrary bytes.

use crate::codec::json::Json;
use crate::codec::json_rpc::{Message, Request};
use crate::codec::xml_reader::read_call;
use crate::dialect::nzbget::arguments::Arguments;
use crate::dialect::sabnzbd;

/// A message of JSON-RPC, down to the flattened parameters.
pub fn json(bytes: &[u8]) {
    let requests = match Message::parse(bytes) {
        Ok(Message::One(one)) => vec![one],
        Ok(Message::Batch(batch)) => batch,
        Err(_) => return,
    };
    for request in requests.into_iter().filter_map(|source| Request::read(source).ok()) {
        let _ = request.params.parse().map(Arguments::flattened);
    }
}

/// A form of SABnzbd's dialect, with its file; the first line is the content type.
pub fn form(bytes: &[u8]) {
    sabnzbd::read_form(bytes);
}

/// A call of XML-RPC, likewise.
pub fn xml(bytes: &[u8]) {
    if let Ok(call) = read_call(bytes, |_| Ok(())) {
        let _ = Arguments::flattened(Json::List(call.params));
    }
}
