//! Authenticates a request of SABnzbd's dialect, reads its form and dispatches its mode.

use std::net::IpAddr;

use bergamot_api::Control;
use hyper::body::Incoming;
use hyper::header::{self, HeaderMap};
use hyper::{Method, Request, StatusCode};

use crate::access::{Access, Caller};
use crate::call::fault::Fault;
use crate::call::registry::Effect;
use crate::call::service::LARGEST;
use crate::dialect::sabnzbd::VERSION;
use crate::dialect::sabnzbd::error::SabError;
use crate::dialect::sabnzbd::mode::{self, Call, Mode};
use crate::dialect::sabnzbd::params::{Form, Params};
use crate::http::auth::{self, Credentials};
use crate::http::body::{BodyError, BodyReader, Held};
use crate::http::handler::{
    Connection, Http, JSON_TYPE, Peer, Reply, Unproven, busy, closing, empty, is_compressed,
    too_many, whole,
};
use crate::http::login_throttle::LONGEST_WAIT;

/// An authenticated client.
struct Admitted {
    caller: Caller,
    /// It was proved by what no page of others could make a browser send.
    deliberate: bool,
}

/// Why a request is rejected.
enum Refused {
    Busy,
    SabError(SabError),
    Unread(BodyError),
    TooManyWait,
}

impl Refused {
    /// No credentials were given.
    fn is_silence(&self) -> bool {
        matches!(self, Self::SabError(SabError::KeyRequired))
    }
}

impl<C: Control> Http<C> {
    pub(crate) async fn answer_sab(
        &self,
        connection: &Connection<'_>,
        in_url: Option<Credentials>,
        request: Request<Incoming>,
    ) -> Reply {
        if is_compressed(request.headers()) {
            return closing(empty(StatusCode::UNSUPPORTED_MEDIA_TYPE));
        }
        match self.answered_sab(connection, in_url, request).await {
            Ok(text) => whole(text, JSON_TYPE),
            // With any other status Sonarr reports that the server is unreachable.
            Err(Refused::SabError(error_text)) => whole(written(&error_text), JSON_TYPE),
            Err(Refused::Busy) => busy(),
            Err(Refused::TooManyWait) => too_many(LONGEST_WAIT),
            Err(Refused::Unread(error)) => unread(&error),
        }
    }

    async fn answered_sab(
        &self,
        connection: &Connection<'_>,
        in_url: Option<Credentials>,
        request: Request<Incoming>,
    ) -> Result<Vec<u8>, Refused> {
        let (head, body) = request.into_parts();
        let by_get = head.method == Method::GET;
        let params = Params::in_query(head.uri.query().unwrap_or_default());
        let admitted = self.admitted_sab(connection, in_url, &head.headers, &params).await;
        let (params, admitted, _held) = match by_get {
            true => (params, admitted, Held::default()),
            false => self.with_body(connection, &head.headers, params, admitted, body).await?,
        };
        if let Some(text) = self.answered_without_key(connection, &params).await? {
            return Ok(text);
        }
        let Admitted { caller, deliberate } = admitted?;
        let mode = mode::find(&params)?;
        permitted(mode, &caller, deliberate || !by_get)?;
        if !connection.slot.on_call() {
            return Err(Refused::Busy);
        }
        let call = Call { control: self.service.control.as_ref(), caller: &caller, params };
        let outcome = mode::dispatch(mode, call).await;
        self.service.counts.mode(mode.row(), outcome.is_ok());
        Ok(outcome?)
    }

    /// Reads the form. A client without credentials so far may give them there: at its beginning for a file of
    /// any allowed size, after the file for one that fits the small budget of unauthenticated requests.
    async fn with_body(
        &self,
        connection: &Connection<'_>,
        headers: &HeaderMap,
        params: Params,
        admitted: Result<Admitted, Refused>,
        body: Incoming,
    ) -> Result<(Params, Result<Admitted, Refused>, Held), Refused> {
        let slot = connection.slot;
        let mut body = BodyReader::new(body, slot);
        // Credentials may still follow in the form; wrong ones are rejected now.
        let admitted = match admitted {
            Err(refused) if !refused.is_silence() => return Err(refused),
            admitted => admitted,
        };
        let content_type = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        let form = Form::of(content_type);
        let limit = match form {
            Form::Multipart(_) => LARGEST,
            Form::Urlencoded => LARGEST_URLENCODED,
        };
        let (mut held, mut admitted) = (Held::default(), admitted);
        if admitted.is_err() {
            slot.on_body(false);
            self.unauthenticated.read_up_to(&mut held, &mut body, KEY_WITHIN, limit).await?;
            let so_far = params.with_fields(&form, &held.bytes);
            admitted = self.admitted_sab(connection, None, headers, &so_far).await;
        }
        match admitted {
            Ok(Admitted { ref caller, .. }) => {
                if !slot.on_body(caller.is_authenticated) {
                    return Err(Refused::Busy);
                }
                held.leave_room();
                self.bodies.with_nzb().read_up_to(&mut held, &mut body, usize::MAX, limit).await?;
            }
            Err(refused) if refused.is_silence() => {
                let (all, limit) = (usize::MAX, LARGEST_UNAUTHENTICATED);
                self.unauthenticated.read_up_to(&mut held, &mut body, all, limit).await?;
                let so_far = params.with_fields(&form, &held.bytes);
                admitted = self.admitted_sab(connection, None, headers, &so_far).await;
            }
            Err(refused) => return Err(refused),
        }
        let params = params.with_form(&form, std::mem::take(&mut held.bytes));
        Ok((params, admitted, held))
    }

    async fn admitted_sab(
        &self,
        connection: &Connection<'_>,
        in_url: Option<Credentials>,
        headers: &HeaderMap,
        params: &Params,
    ) -> Result<Admitted, Refused> {
        let address = match &connection.peer {
            Peer::Unix(caller) => return Ok(Admitted { caller: caller.clone(), deliberate: true }),
            Peer::Tcp(address) => address.ip().to_canonical(),
        };
        if let Some(caller) = auth::caller_without_password(&self.settings, headers, address) {
            // A valid key determines the access level, even where none is required.
            let params = in_parameters(params).or(in_url);
            let proven = params.and_then(|params| auth::caller(&self.settings, &params, address));
            let deliberate = proven.is_some();
            return Ok(Admitted { caller: proven.unwrap_or(caller), deliberate });
        }
        if let Some(credentials) = in_parameters(params).or(in_url) {
            let caller = self.proven_sab(connection, &credentials, address).await?;
            return Ok(Admitted { caller, deliberate: true });
        }
        let credentials = auth::credentials(None, headers);
        let credentials = credentials.ok_or(SabError::KeyRequired)?;
        let caller = self.proven_sab(connection, &credentials, address).await?;
        // A browser repeats a login automatically, but never a token.
        let deliberate = matches!(credentials, Credentials::Token(_));
        Ok(Admitted { caller, deliberate })
    }

    async fn proven_sab(
        &self,
        connection: &Connection<'_>,
        credentials: &Credentials,
        address: IpAddr,
    ) -> Result<Caller, Refused> {
        self.proven(connection, credentials, address).await.map_err(|unproven| match unproven {
            Unproven::TooMany => Refused::TooManyWait,
            Unproven::Wrong => SabError::KeyIncorrect.into(),
        })
    }

    /// Clients use these two modes before they have a key.
    async fn answered_without_key(
        &self,
        connection: &Connection<'_>,
        params: &Params,
    ) -> Result<Option<Vec<u8>>, Refused> {
        let peer = &connection.peer;
        let (name, value) = match (params.text("mode"), params.optional("key"), peer) {
            ("version", ..) => ("version", VERSION),
            ("auth", Some(key), Peer::Tcp(address)) => {
                let key = Credentials::Token(key.as_bytes().to_vec());
                let address = address.ip().to_canonical();
                let known = self.proven_sab(connection, &key, address).await;
                let known = match known {
                    Ok(caller) if caller.access == Access::Add => "nzbkey",
                    Ok(_) => "apikey",
                    Err(Refused::SabError(_)) => "badkey",
                    Err(refused) => return Err(refused),
                };
                ("auth", known)
            }
            ("auth", ..) => ("auth", "apikey"),
            _ => return Ok(None),
        };
        Ok(Some(serde_json::json!({ name: value }).to_string().into_bytes()))
    }
}

fn permitted(mode: &Mode, caller: &Caller, may_change: bool) -> Result<(), SabError> {
    if caller.access < mode.access {
        return Err(SabError::KeyIncorrect);
    }
    if mode.effect == Effect::Changes && !may_change {
        return Err(SabError::KeyRequired);
    }
    Ok(())
}

fn in_parameters(params: &Params) -> Option<Credentials> {
    if let Some(key) = params.optional("apikey") {
        return Some(Credentials::Token(key.as_bytes().to_vec()));
    }
    let bytes = |name| params.text(name).as_bytes().to_vec();
    let password = bytes("ma_password");
    let login = Credentials::Login { name: bytes("ma_username"), password };
    params.optional("ma_password").map(|_| login)
}

fn written(error_text: &SabError) -> Vec<u8> {
    let error = serde_json::json!({ "status": false, "error": error_text.to_string() });
    error.to_string().into_bytes()
}

fn unread(error: &BodyError) -> Reply {
    match error {
        BodyError::Broken => closing(empty(StatusCode::BAD_REQUEST)),
        BodyError::NoRoom => busy(),
        BodyError::TooSlow => closing(empty(StatusCode::REQUEST_TIMEOUT)),
        BodyError::Shape(excess) => whole(written(&SabError::Fault((*excess).into())), JSON_TYPE),
        BodyError::TooLarge(limit) => {
            let error_text = SabError::Fault(Fault::TooLarge { limit: *limit });
            let mut reply = whole(written(&error_text), JSON_TYPE);
            *reply.status_mut() = StatusCode::PAYLOAD_TOO_LARGE;
            closing(reply)
        }
    }
}

impl From<BodyError> for Refused {
    fn from(error: BodyError) -> Self {
        Self::Unread(error)
    }
}

impl From<SabError> for Refused {
    fn from(error_text: SabError) -> Self {
        Self::SabError(error_text)
    }
}

/// The fields that clients put before a file are well within it.
const KEY_WITHIN: usize = 64 << 10;
/// Room for all ids that a call may name; each value is copied more than once while it is decoded.
const LARGEST_URLENCODED: usize = 1 << 20;
/// An NZB of some 100,000 articles.
const LARGEST_UNAUTHENTICATED: usize = 16 << 20;
