//! XML-RPC, as Home Assistant and the scripts of NZBGet speak it.

use crate::control::Control;
use crate::fault::Fault;
use crate::json::Json;
use crate::reply::Reply;
use crate::service::{Asked, Service};
use crate::xml_reader::{MethodCall, read_call};
use crate::xml_writer::{write_text, write_value};

impl<C: Control> Service<C> {
    pub(crate) async fn answer_xml(&self, asked: &Asked<'_>, text: &[u8]) -> Vec<u8> {
        let outcome = match read_call(text) {
            Ok(call) if call.method.eq_ignore_ascii_case("system.multicall") => {
                self.multicall(asked, call).await
            }
            Ok(call) => self.call(asked, &call.method, Json::List(call.params)).await,
            Err(fault) => Err(fault),
        };
        response(outcome)
    }

    /// Each result in a list of its own, unless it is one; a fault as its struct.
    async fn multicall(&self, asked: &Asked<'_>, call: MethodCall) -> Result<Reply, Fault> {
        let mut params = call.params;
        let calls = match (params.pop(), params.is_empty()) {
            (Some(Json::List(calls)), true) => calls,
            _ => return Err(Fault::parameter("one list of calls is wanted")),
        };
        if calls.len() > MOST_CALLS {
            return Err(Fault::TooMany { count: calls.len(), limit: MOST_CALLS });
        }
        let mut text = b"<value><array><data>".to_vec();
        for call in calls {
            match self.call_of_many(asked, call).await {
                Ok(Reply(value)) if value.starts_with(b"<value><array>") => {
                    text.extend_from_slice(&value);
                }
                Ok(Reply(value)) => {
                    text.extend_from_slice(b"<value><array><data>");
                    text.extend_from_slice(&value);
                    text.extend_from_slice(b"</data></array></value>");
                }
                Err(fault) => write_fault(&mut text, &fault),
            }
        }
        text.extend_from_slice(b"</data></array></value>");
        Ok(Reply(text))
    }

    async fn call_of_many(&self, asked: &Asked<'_>, mut call: Json<'_>) -> Result<Reply, Fault> {
        let params = call.take("params").unwrap_or(Json::Null);
        match call.take("methodName") {
            // One within the other could go on for ever.
            Some(Json::Text(method)) if method.eq_ignore_ascii_case("system.multicall") => {
                Err(Fault::NotHere("system.multicall"))
            }
            Some(Json::Text(method)) => self.call(asked, &method, params).await,
            _ => Err(Fault::InvalidRequest("a call names no method")),
        }
    }
}

/// The whole document.
pub(crate) fn response(outcome: Result<Reply, Fault>) -> Vec<u8> {
    match outcome {
        Ok(reply) => {
            let head = format!("{HEAD}<params><param>");
            reply.between(head.as_bytes(), b"</param></params></methodResponse>")
        }
        Err(fault) => {
            let mut text = Vec::new();
            write_fault(&mut text, &fault);
            let head = format!("{HEAD}<fault>");
            Reply(text).between(head.as_bytes(), b"</fault></methodResponse>")
        }
    }
}

fn write_fault(text: &mut Vec<u8>, fault: &Fault) {
    text.extend_from_slice(b"<value><struct><member><name>faultCode</name>");
    write_value(text, &fault.nzbget_number());
    text.extend_from_slice(b"</member><member><name>faultString</name><value><string>");
    write_text(text, &fault.to_string());
    text.extend_from_slice(b"</string></value></member></struct></value>");
}

const HEAD: &str = r#"<?xml version="1.0" encoding="UTF-8"?><methodResponse>"#;
const MOST_CALLS: usize = 100;
