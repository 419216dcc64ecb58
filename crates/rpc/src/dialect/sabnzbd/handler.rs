//! From a request over HTTP to its answer: who, what, and only then the file.

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
use crate::dialect::sabnzbd::error::Complaint;
use crate::dialect::sabnzbd::mode::{self, Call, Mode};
use crate::dialect::sabnzbd::params::{Form, Given};
use crate::http::auth::{self, Credentials};
use crate::http::body::{BodyError, BodyReader, Held};
use crate::http::handler::{
    Connection, Http, JSON_TYPE, Peer, Reply, Unproven, busy, closing, empty, is_compressed,
    too_many, whole,
};
use crate::http::login_throttle::LONGEST_WAIT;

/// Somebody who may call.
struct Admitted {
    caller: Caller,
    /// It was proved by what no page of others could make a browser send.
    deliberate: bool,
}

/// Why a request is not looked at any further.
enum Refused {
    Busy,
    Complaint(Complaint),
    Unread(BodyError),
    TooManyWait,
}

impl Refused {
    /// They have said nothing of who they are.
    fn is_silence(&self) -> bool {
        matches!(self, Self::Complaint(Complaint::KeyRequired))
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
            // With any other status Sonarr tells people that nobody is there.
            Err(Refused::Complaint(complaint)) => whole(written(&complaint), JSON_TYPE),
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
        let given = Given::in_query(head.uri.query().unwrap_or_default());
        let admitted = self.admitted_sab(connection, in_url, &head.headers, &given).await;
        let (given, admitted, _held) = match by_get {
            true => (given, admitted, Held::default()),
            false => self.with_body(connection, &head.headers, given, admitted, body).await?,
        };
        if let Some(text) = self.answered_to_anybody(connection, &given).await? {
            return Ok(text);
        }
        let Admitted { caller, deliberate } = admitted?;
        let mode = mode::find(&given)?;
        permitted(mode, &caller, deliberate || !by_get)?;
        if !connection.place.on_call() {
            return Err(Refused::Busy);
        }
        let call = Call { control: self.service.control.as_ref(), caller: &caller, given };
        let outcome = mode::dispatch(mode, call).await;
        self.service.counts.mode(mode.row(), outcome.is_ok());
        Ok(outcome?)
    }

    /// The rest of the request. Whoever has not said yet who they are may do so in the form: at its
    /// beginning for as large a file as anybody, behind it for one that a little room can hold.
    async fn with_body(
        &self,
        connection: &Connection<'_>,
        headers: &HeaderMap,
        given: Given,
        admitted: Result<Admitted, Refused>,
        body: Incoming,
    ) -> Result<(Given, Result<Admitted, Refused>, Held), Refused> {
        let place = connection.place;
        let mut body = BodyReader::new(body, place);
        // Who has not said anything yet may do so in the form; a wrong key stays wrong.
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
            place.on_body(false);
            self.strangers.read_up_to(&mut held, &mut body, TELLING, limit).await?;
            let told = given.with_fields(&form, &held.bytes);
            admitted = self.admitted_sab(connection, None, headers, &told).await;
        }
        match admitted {
            Ok(Admitted { ref caller, .. }) => {
                if !place.on_body(caller.is_authenticated) {
                    return Err(Refused::Busy);
                }
                held.leave_room();
                self.bodies.with_nzb().read_up_to(&mut held, &mut body, usize::MAX, limit).await?;
            }
            Err(refused) if refused.is_silence() => {
                let (all, limit) = (usize::MAX, LARGEST_OF_STRANGERS);
                self.strangers.read_up_to(&mut held, &mut body, all, limit).await?;
                let told = given.with_fields(&form, &held.bytes);
                admitted = self.admitted_sab(connection, None, headers, &told).await;
            }
            Err(refused) => return Err(refused),
        }
        let given = given.with_form(&form, std::mem::take(&mut held.bytes));
        Ok((given, admitted, held))
    }

    async fn admitted_sab(
        &self,
        connection: &Connection<'_>,
        in_url: Option<Credentials>,
        headers: &HeaderMap,
        given: &Given,
    ) -> Result<Admitted, Refused> {
        let address = match &connection.peer {
            Peer::Unix(caller) => return Ok(Admitted { caller: caller.clone(), deliberate: true }),
            Peer::Tcp(address) => address.ip().to_canonical(),
        };
        if let Some(caller) = auth::caller_without_password(&self.settings, headers, address) {
            // Whoever gives a key that is right means it, and has the right of that key.
            let given = in_parameters(given).or(in_url);
            let proven = given.and_then(|given| auth::caller(&self.settings, &given, address));
            let deliberate = proven.is_some();
            return Ok(Admitted { caller: proven.unwrap_or(caller), deliberate });
        }
        if let Some(credentials) = in_parameters(given).or(in_url) {
            let caller = self.proven_sab(connection, &credentials, address).await?;
            return Ok(Admitted { caller, deliberate: true });
        }
        let credentials = auth::credentials(None, headers);
        let credentials = credentials.ok_or(Complaint::KeyRequired)?;
        let caller = self.proven_sab(connection, &credentials, address).await?;
        // A browser adds a login by itself once it knows it, but never a token.
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
            Unproven::Wrong => Complaint::KeyIncorrect.into(),
        })
    }

    /// Clients ask these two before they know any key.
    async fn answered_to_anybody(
        &self,
        connection: &Connection<'_>,
        given: &Given,
    ) -> Result<Option<Vec<u8>>, Refused> {
        let peer = &connection.peer;
        let (name, value) = match (given.text("mode"), given.optional("key"), peer) {
            ("version", ..) => ("version", VERSION),
            ("auth", Some(key), Peer::Tcp(address)) => {
                let key = Credentials::Token(key.as_bytes().to_vec());
                let address = address.ip().to_canonical();
                let known = self.proven_sab(connection, &key, address).await;
                let known = match known {
                    Ok(caller) if caller.access == Access::Add => "nzbkey",
                    Ok(_) => "apikey",
                    Err(Refused::Complaint(_)) => "badkey",
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

fn permitted(mode: &Mode, caller: &Caller, may_change: bool) -> Result<(), Complaint> {
    if caller.access < mode.access {
        return Err(Complaint::KeyIncorrect);
    }
    if mode.effect == Effect::Changes && !may_change {
        return Err(Complaint::KeyRequired);
    }
    Ok(())
}

fn in_parameters(given: &Given) -> Option<Credentials> {
    if let Some(key) = given.optional("apikey") {
        return Some(Credentials::Token(key.as_bytes().to_vec()));
    }
    let bytes = |name| given.text(name).as_bytes().to_vec();
    let password = bytes("ma_password");
    let login = Credentials::Login { name: bytes("ma_username"), password };
    given.optional("ma_password").map(|_| login)
}

fn written(complaint: &Complaint) -> Vec<u8> {
    let error = serde_json::json!({ "status": false, "error": complaint.to_string() });
    error.to_string().into_bytes()
}

fn unread(error: &BodyError) -> Reply {
    match error {
        BodyError::Broken => closing(empty(StatusCode::BAD_REQUEST)),
        BodyError::NoRoom => busy(),
        BodyError::TooSlow => closing(empty(StatusCode::REQUEST_TIMEOUT)),
        BodyError::Shape(excess) => whole(written(&Complaint::Fault((*excess).into())), JSON_TYPE),
        BodyError::TooLarge(limit) => {
            let complaint = Complaint::Fault(Fault::TooLarge { limit: *limit });
            let mut reply = whole(written(&complaint), JSON_TYPE);
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

impl From<Complaint> for Refused {
    fn from(complaint: Complaint) -> Self {
        Self::Complaint(complaint)
    }
}

/// The fields that clients put before a file are well within it.
const TELLING: usize = 64 << 10;
/// Room for all ids that a call may name; each value is copied more than once while it is decoded.
const LARGEST_URLENCODED: usize = 1 << 20;
/// An NZB of some 100,000 articles.
const LARGEST_OF_STRANGERS: usize = 16 << 20;
