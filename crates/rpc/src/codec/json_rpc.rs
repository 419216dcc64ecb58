//! [`Request`] and [`Envelope`]: JSON-RPC 1.1 and 2.0, single requests and batches.

use std::borrow::Cow;

use bergamot_api::Control;

use crate::call::fault::{Fault, FaultIn};
use crate::call::registry::{Dialect, dialect_of};
use crate::call::service::{CallContext, LARGEST_USUAL, Params, Service};
use crate::codec::chunked_reply::{Aborted, ChunkWriter};
use crate::codec::json::{Json, Malformed, Source};
use crate::codec::reply::{Format, Reply};
use crate::codec::shape::Shape;

pub(crate) struct Request<'a> {
    pub(crate) method: Cow<'a, str>,
    pub(crate) params: Params<'a>,
    pub(crate) id: Option<Json<'a>>,
    /// The request declares version 2.0.
    pub(crate) is_2: bool,
}

/// The fields of the response around the result.
pub(crate) struct Envelope<'a> {
    id: Option<Json<'a>>,
    is_2: bool,
    dialect: Dialect,
}

/// A message: one request, or several at once.
pub(crate) enum Message<'a> {
    One(Source<'a>),
    Batch(Vec<Source<'a>>),
}

impl<'a> Message<'a> {
    pub(crate) fn parse(text: &'a [u8]) -> Result<Self, Fault> {
        Shape::json().handle_input(text)?;
        let source = Source::of(text)?;
        if source.first() != Some(b'[') {
            return Ok(Self::One(source));
        }
        match source.items()? {
            list if list.is_empty() => Err(Fault::InvalidRequest("the batch is empty")),
            list if list.len() > LONGEST_BATCH => {
                Err(Fault::TooMany { count: list.len(), limit: LONGEST_BATCH })
            }
            _ if text.len() > LARGEST_USUAL => Err(Fault::TooLarge { limit: LARGEST_USUAL }),
            list => Ok(Self::Batch(list)),
        }
    }
}

impl<'a> Request<'a> {
    /// An error carries the id, if the request has one.
    pub(crate) fn read(source: Source<'a>) -> Result<Self, (Fault, Envelope<'a>)> {
        let malformed = |error: Malformed| (Fault::Malformed(error), Envelope::unknown());
        if source.first() != Some(b'{') {
            source.check().map_err(malformed)?;
            let envelope = Envelope { id: None, is_2: false, dialect: Dialect::Native };
            return Err((Fault::InvalidRequest("it is not an object"), envelope));
        }
        let mut fields = source.fields().map_err(malformed)?;
        let mut value = |key| fields.take(key, source).map(Source::parse).transpose();
        let version = value("jsonrpc").map_err(malformed)?;
        let is_2 = version.is_some_and(|version| version.as_text() == Some("2.0"));
        let id = value("id").map_err(malformed)?;
        let method = value("method").map_err(malformed)?;
        let params = fields.take("params", source);
        let wrong = match &method {
            Some(Json::Text(_)) => wrong_id(id.as_ref()).or_else(|| wrong_params(params)),
            _ => Some("it names no method"),
        };
        match (wrong, method) {
            (None, Some(Json::Text(method))) => {
                let params = params.map_or(Params::Parsed(Json::Null), Params::Text);
                Ok(Self { method, params, id, is_2 })
            }
            (wrong, _) => {
                let fault = Fault::InvalidRequest(wrong.unwrap_or("it names no method"));
                let id = id.filter(|id| wrong_id(Some(id)).is_none());
                Err((fault, Envelope { id, is_2, dialect: Dialect::Native }))
            }
        }
    }

    pub(crate) fn envelope(&self) -> Envelope<'a> {
        Envelope { id: self.id.clone(), is_2: self.is_2, dialect: dialect_of(&self.method) }
    }

    pub(crate) fn is_notification(&self) -> bool {
        self.is_2 && self.id.is_none()
    }
}

fn wrong_id(id: Option<&Json<'_>>) -> Option<&'static str> {
    match id {
        Some(Json::Bool(_) | Json::List(_) | Json::Object(_)) => {
            Some("its id is neither text nor a number")
        }
        Some(Json::Text(text)) if text.len() > LONGEST_ID => Some("its id is too long"),
        _ => None,
    }
}

fn wrong_params(params: Option<Source<'_>>) -> Option<&'static str> {
    match params.and_then(|params| params.first()) {
        None | Some(b'n' | b'[' | b'{') => None,
        _ => Some("its parameters are neither a list nor an object"),
    }
}

impl Envelope<'_> {
    /// Of calls that came without any.
    pub(crate) fn bare(method: &str) -> Self {
        Self { id: None, is_2: false, dialect: dialect_of(method) }
    }

    /// Of what could not even be read.
    pub(crate) fn unknown() -> Self {
        Self { id: Some(Json::Null), is_2: true, dialect: Dialect::Native }
    }

    pub(crate) fn around(&self, outcome: Result<Reply, Fault>) -> Reply {
        let mut head = br#"{"version":"1.1","#.to_vec();
        if self.is_2 {
            head.extend_from_slice(br#""jsonrpc":"2.0","#);
        }
        if let Some(id) = &self.id {
            head.extend_from_slice(br#""id":"#);
            Format::Json.append(&mut head, id);
            head.push(b',');
        }
        let reply = match outcome {
            Ok(result) => {
                head.extend_from_slice(br#""result":"#);
                result
            }
            Err(fault) => {
                head.extend_from_slice(br#""error":"#);
                Format::Json.write(&FaultIn(&fault, self.dialect))
            }
        };
        reply.between(&head, b"}")
    }
}

impl<C: Control> Service<C> {
    /// Answers what came in one body. A single request without an id is answered, too, for clients of
    /// NZBGet send none.
    pub(crate) async fn answer_body(
        &self,
        asked: &CallContext<'_>,
        text: &[u8],
        chunks: &mut ChunkWriter,
    ) -> Result<(), Aborted> {
        match Message::parse(text) {
            Err(fault) => chunks.put(Envelope::unknown().around(Err(fault))).await,
            Ok(Message::One(one)) => match self.answer_one(asked, one, false).await {
                Some(answer) => chunks.put(answer).await,
                None => Ok(()),
            },
            Ok(Message::Batch(batch)) => self.answer_batch(asked, batch, chunks).await,
        }
    }

    /// One after another, each when the one before is out.
    pub(crate) async fn answer_batch(
        &self,
        asked: &CallContext<'_>,
        batch: Vec<Source<'_>>,
        chunks: &mut ChunkWriter,
    ) -> Result<(), Aborted> {
        let mut is_begun = false;
        for one in batch {
            if let Some(answer) = self.answer_one(asked, one, true).await {
                chunks.write(if is_begun { b"," } else { b"[" });
                is_begun = true;
                chunks.put(answer).await?;
                chunks.let_out().await?;
            }
        }
        if is_begun {
            chunks.write(b"]");
        }
        Ok(())
    }

    async fn answer_one(
        &self,
        asked: &CallContext<'_>,
        source: Source<'_>,
        may_be_silent: bool,
    ) -> Option<Reply> {
        let request = match Request::read(source) {
            Ok(request) => request,
            Err((fault, envelope)) => return Some(envelope.around(Err(fault))),
        };
        self.answer_request(asked, request, may_be_silent).await
    }

    pub(crate) async fn answer_request(
        &self,
        asked: &CallContext<'_>,
        request: Request<'_>,
        may_be_silent: bool,
    ) -> Option<Reply> {
        let silent = may_be_silent && request.is_notification();
        let envelope = request.envelope();
        let outcome = self.call(asked, &request.method, request.params).await;
        (!silent).then(|| envelope.around(outcome))
    }
}

const LONGEST_BATCH: usize = 100;
/// It is sent back, so it must not be a way to make answers large.
const LONGEST_ID: usize = 256;
