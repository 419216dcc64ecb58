//! XML-RPC calls, `system.multicall` and responses, as Home Assistant and NZBGet's scripts use them.

use bergamot_api::Control;

use crate::call::fault::Fault;
use crate::call::registry::{self, Entry, Method};
use crate::call::service::{CallContext, LARGEST_USUAL, Params, Service};
use crate::codec::chunked_reply::{Aborted, ChunkWriter};
use crate::codec::json::Json;
use crate::codec::nzb_methods::names_an_nzb_method;
use crate::codec::reply::{Format, Reply};
use crate::codec::xml_reader::{MethodCall, read_call};
use crate::codec::xml_writer::{write_text, write_value};

impl<C: Control> Service<C> {
    pub(crate) async fn answer_xml(
        &self,
        asked: &CallContext<'_>,
        text: &[u8],
        chunks: &mut ChunkWriter,
    ) -> Result<(), Aborted> {
        let permit = |method: &str| {
            let entry = registry::find(method)?;
            asked.permit(entry, size_to_permit(entry, text)?)
        };
        let outcome = match read_call(text, permit) {
            Ok(call) if call.method.eq_ignore_ascii_case("system.multicall") => {
                match calls_of(call) {
                    Ok(calls) => return self.multicall(asked, calls, chunks).await,
                    Err(fault) => Err(fault),
                }
            }
            Ok(call) => {
                self.call(asked, &call.method, Params::Parsed(Json::List(call.params))).await
            }
            Err(fault) => Err(fault),
        };
        chunks.put(response(outcome)).await
    }

    /// Each result in a list of its own, unless it is one; a fault as its struct. One after another, each
    /// when the one before is out.
    async fn multicall(
        &self,
        asked: &CallContext<'_>,
        calls: Vec<Json<'_>>,
        chunks: &mut ChunkWriter,
    ) -> Result<(), Aborted> {
        let [begin, _, end] = Format::Xml.brackets();
        chunks.write(format!("{HEAD}{RESULT}").as_bytes());
        chunks.write(begin);
        for call in calls {
            let result = match self.call_of_many(asked, call).await {
                Ok(result) if result.text.starts_with(begin) => result,
                Ok(result) => result.between(begin, end),
                Err(fault) => fault_value(&fault),
            };
            chunks.put(result).await?;
            chunks.let_out().await?;
        }
        chunks.write(end);
        chunks.write(END_OF_RESULT.as_bytes());
        Ok(())
    }

    async fn call_of_many(
        &self,
        asked: &CallContext<'_>,
        mut call: Json<'_>,
    ) -> Result<Reply, Fault> {
        let params = call.take("params").unwrap_or(Json::Null);
        match call.take("methodName") {
            // One within the other could go on for ever.
            Some(Json::Text(method)) if method.eq_ignore_ascii_case("system.multicall") => {
                Err(Fault::NotHere("system.multicall"))
            }
            Some(Json::Text(method)) => self.call(asked, &method, Params::Parsed(params)).await,
            _ => Err(Fault::InvalidRequest("a call names no method")),
        }
    }
}

/// All text of a document is copied when it is read. NZBs in several calls may take as much room as a
/// request may have; anything else is bounded as the parameters of one call are.
fn size_to_permit(entry: &Entry, text: &[u8]) -> Result<usize, Fault> {
    if entry.method != Method::SystemMulticall || !names_an_nzb_method(text) {
        return Ok(text.len());
    }
    if text.len() > LARGEST_USUAL { Err(Fault::TooLarge { limit: LARGEST_USUAL }) } else { Ok(0) }
}

fn calls_of(call: MethodCall) -> Result<Vec<Json<'static>>, Fault> {
    let mut params = call.params;
    let calls = match (params.pop(), params.is_empty()) {
        (Some(Json::List(calls)), true) => calls,
        _ => return Err(Fault::parameter("expected one list of calls")),
    };
    if calls.len() > MOST_CALLS {
        return Err(Fault::TooMany { count: calls.len(), limit: MOST_CALLS });
    }
    Ok(calls)
}

/// The whole document.
pub(crate) fn response(outcome: Result<Reply, Fault>) -> Reply {
    match outcome {
        Ok(reply) => reply.between(format!("{HEAD}{RESULT}").as_bytes(), END_OF_RESULT.as_bytes()),
        Err(fault) => {
            let head = format!("{HEAD}<fault>");
            fault_value(&fault).between(head.as_bytes(), b"</fault></methodResponse>")
        }
    }
}

fn fault_value(fault: &Fault) -> Reply {
    let mut text = b"<value><struct><member><name>faultCode</name>".to_vec();
    write_value(&mut text, &fault.nzbget_number());
    text.extend_from_slice(b"</member><member><name>faultString</name><value><string>");
    write_text(&mut text, &fault.to_string());
    text.extend_from_slice(b"</string></value></member></struct></value>");
    Reply::whole(text)
}

const HEAD: &str = r#"<?xml version="1.0" encoding="UTF-8"?><methodResponse>"#;
const RESULT: &str = "<params><param>";
const END_OF_RESULT: &str = "</param></params></methodResponse>";
const MOST_CALLS: usize = 100;
