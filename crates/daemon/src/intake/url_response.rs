//! [`FetchedNzb`]: what the response from the URL of an NZB contained: an NZB, an archive of them, or something else.
//! Read on a blocking thread.

use std::io::{self, Cursor, Read};
use std::time::Duration;

use bergamot_jobs::engine_job::contents;
use bergamot_jobs::{Contents, Dupe, Fingerprint, Record};
use bergamot_net::http::Response;
use bergamot_nzb::{Limits, Member, Nzb, NzbError, Zip, ZipError};
use bergamot_queue::Cause;
use bergamot_store::StoreError;
use bergamot_types::{JobId, Secret, Shown, Url};
use flate2::bufread::MultiGzDecoder;
use thiserror::Error;
use tracing::warn;

use crate::intake::new_job::{NewJobs, Wishes, explained, job_name};
use crate::intake::nzb_to_job::fingerprint;
use crate::intake::url_client::{Account, FetchError, Retry};

/// An NZB that has come and is in the spool: what is known of its job that was not known before.
#[derive(Clone, Debug)]
pub(crate) struct FetchedNzb {
    pub(crate) fingerprint: Fingerprint,
    pub(crate) contents: Contents,
    pub(crate) name: String,
    pub(crate) category: Option<String>,
    pub(crate) password: Option<Secret>,
    /// Names and values.
    pub(crate) parameters: Vec<(String, String)>,
}

impl NewJobs {
    /// Puts what has come for a job into the spool. Jobs of other NZBs that came along are handed over
    /// as soon as they are in there, for what comes next may fail.
    pub(crate) fn unpack(
        &self,
        record: &Record,
        response: Response,
        accept: &dyn Fn(Record),
    ) -> Result<FetchedNzb, FetchError> {
        let headers = Headers::of(&response);
        let body = out_of_gzip(response.into_body())?;
        if Zip::is_one(&body) {
            return self.unpack_archive(record, &headers, &body, accept);
        }
        let nzb = bergamot_nzb::read(body.as_slice(), &Limits::default())
            .map_err(|error| not_an_nzb(&error, &headers))?;
        self.put(record.id, &body)?;
        Ok(self.arrived(&nzb, &headers, headers.name.as_deref()))
    }

    /// The first good NZB is that of the job; each other becomes a job of its own. Those come first,
    /// so that a daemon which dies in between fetches the archive again, and knows them when it does.
    fn unpack_archive(
        &self,
        record: &Record,
        headers: &Headers,
        bytes: &[u8],
        accept: &dyn Fn(Record),
    ) -> Result<FetchedNzb, FetchError> {
        let zip = Zip::open(bytes).map_err(|error| {
            FetchError::never(Cause::Refused, format!("{}: {error}", error.code()))
        })?;
        let mut own: Option<(Nzb, Vec<u8>, &Member)> = None;
        let mut broken = Vec::new();
        let mut left = MOST_UNPACKED;
        for member in nzbs_of(&zip)? {
            match (content(&zip, member, &mut left).and_then(read), &own) {
                (Err(why), _) => broken.push((member, why)),
                (Ok((nzb, content)), None) => own = Some((nzb, content, member)),
                (Ok((nzb, content)), Some((first, ..)))
                    if fingerprint(&nzb) != fingerprint(first) =>
                {
                    self.receive_member(record, member, &content)?.into_iter().for_each(accept);
                }
                // It is there twice.
                (Ok(_), Some(_)) => {}
            }
        }
        if let Some((_, content, _)) = &own {
            self.put(record.id, content)?;
        }
        self.refuse_members(record, &broken, accept);
        let (nzb, _, member) = own.ok_or_else(|| {
            let why = "url.not_nzb: no NZB of the ZIP archive can be used".to_owned();
            FetchError::never(Cause::Refused, why)
        })?;
        Ok(self.arrived(&nzb, headers, Some(member.file_name())))
    }

    /// None if it was received before, when the archive came for the first time.
    fn receive_member(
        &self,
        record: &Record,
        member: &Member,
        content: &[u8],
    ) -> Result<Option<Record>, FetchError> {
        let wishes = wishes_of(record, member);
        if self.has_come(&wishes.source, content) {
            return Ok(None);
        }
        self.receive(&wishes, content).map(Some).map_err(|error| unwritten(&error, content))
    }

    /// Adds refused members to the history, for information only: they come last, and a record that cannot be
    /// written is logged and not retried.
    fn refuse_members(
        &self,
        record: &Record,
        members: &[(&Member, MemberError)],
        accept: &dyn Fn(Record),
    ) {
        for (member, why) in members {
            match self.refuse(&wishes_of(record, member), &[], &why.to_string()) {
                Ok(refused) => accept(refused),
                Err(error) => {
                    warn!(job = %record.id, member = %Shown(&member.name), "{why}; {error}")
                }
            }
        }
    }

    fn has_come(&self, source: &str, content: &[u8]) -> bool {
        let read = bergamot_nzb::read(content, &Limits::default());
        let known = read.ok().and_then(|nzb| self.same_articles(fingerprint(&nzb)));
        known.is_some_and(|(_, known)| *known == *source)
    }

    fn put(&self, job: JobId, nzb: &[u8]) -> Result<(), FetchError> {
        self.spool.put_nzb(job, &mut Cursor::new(nzb)).map_err(|error| unwritten(&error, nzb))
    }

    fn arrived(&self, nzb: &Nzb, headers: &Headers, file_name: Option<&str>) -> FetchedNzb {
        let label = self.label(file_name.unwrap_or_default());
        let category = [label.category, headers.category.clone(), nzb.meta.category.clone()];
        let password = [headers.password.clone(), nzb.meta.passwords.first().cloned()];
        FetchedNzb {
            fingerprint: fingerprint(nzb),
            contents: contents(nzb),
            name: job_name(label.name, nzb),
            category: category.into_iter().flatten().find(|text| !text.trim().is_empty()),
            password: password.into_iter().flatten().next().or(label.password),
            parameters: headers.parameters.clone(),
        }
    }
}

fn wishes_of(record: &Record, member: &Member) -> Wishes {
    Wishes {
        file_name: member.file_name().to_owned(),
        source: format!("job {} {}", record.id, Shown(&member.name)),
        category: record.category.as_deref().map(str::to_owned),
        priority: (!record.priority_is_open).then_some(record.priority),
        paused: record.paused,
        password: record.password.clone(),
        dupe: Dupe { mode: record.dupe.mode, ..Dupe::default() },
        ..Wishes::default()
    }
}

fn nzbs_of<'z>(zip: &'z Zip<'_>) -> Result<Vec<&'z Member>, FetchError> {
    let members: Vec<_> = zip.members().iter().filter(|member| member.is_nzb()).collect();
    let why = match members.len() {
        0 => "url.not_nzb: the ZIP archive holds no NZB".to_owned(),
        1..=MOST_NZBS => return Ok(members),
        _ => format!("zip.too_many: the ZIP archive holds more than {MOST_NZBS} NZBs"),
    };
    Err(FetchError::never(Cause::Refused, why))
}

/// Why a member of a ZIP archive cannot be used.
#[derive(Debug, Error)]
enum MemberError {
    #[error("{code}: {0}", code = .0.code())]
    Archive(ZipError),
    #[error("zip.damaged: {0}")]
    Damaged(io::Error),
    #[error("{}", explained(.0))]
    Nzb(NzbError),
    #[error("zip.too_large: it has more than {0} bytes")]
    TooLarge(u64),
}

fn read(content: Vec<u8>) -> Result<(Nzb, Vec<u8>), MemberError> {
    let nzb = bergamot_nzb::read(content.as_slice(), &Limits::default());
    Ok((nzb.map_err(MemberError::Nzb)?, content))
}

/// The headers of a response that describe its NZB.
#[derive(Debug, Default)]
struct Headers {
    name: Option<String>,
    category: Option<String>,
    password: Option<Secret>,
    parameters: Vec<(String, String)>,
    content_type: Option<String>,
}

impl Headers {
    /// The name is that of the file, then that of the release, then that of the address.
    fn of(response: &Response) -> Self {
        let mut headers = Self {
            name: response.file_name().filter(|name| !name.trim().is_empty()),
            content_type: response.content_type().map(|text| Shown(&text).to_string()),
            ..Self::default()
        };
        let all = response.headers().filter_map(|(name, value)| {
            Some((name.strip_prefix("x-dnzb-")?, value.trim().to_owned()))
        });
        for (name, value) in all.filter(|(_, value)| !value.is_empty()).take(MOST_PARAMETERS) {
            match name {
                "category" => headers.category = Some(value),
                "name" if headers.name.is_none() => headers.name = Some(value),
                "password" => headers.password = Some(Secret::new(value)),
                _ => headers.parameters.push((dnzb_name(name), shown_value(&value))),
            }
        }
        headers.name = headers.name.or_else(|| response.url().file_name());
        headers.name = headers.name.map(|name| last_part(&name));
        headers
    }
}

/// Headers have no capital letters here; what reads these names wants them as they were defined.
fn dnzb_name(name: &str) -> String {
    let known = DNZB_NAMES.iter().find(|known| known.eq_ignore_ascii_case(name));
    format!("*DNZB:{}", known.unwrap_or(&name))
}

/// URLs among them may contain the API key of an account, and every client can read parameters.
fn shown_value(value: &str) -> String {
    let shown = Url::parse(value).map_or_else(|_| value.to_owned(), |url| url.to_string());
    shown.chars().take(LONGEST_PARAMETER).collect()
}

fn last_part(name: &str) -> String {
    name.rsplit(['/', '\\']).next().unwrap_or_default().to_owned()
}

/// A ZIP archive may come in gzip, as anything may; an NZB in gzip is left as it is.
fn out_of_gzip(body: Vec<u8>) -> Result<Vec<u8>, FetchError> {
    let mut head = Vec::new();
    // An error of decompression is reported by the code that reads the rest.
    let _ = MultiGzDecoder::new(body.as_slice()).take(4).read_to_end(&mut head);
    if !Zip::is_one(&head) {
        return Ok(body);
    }
    let mut archive = Vec::new();
    let mut unpacked = MultiGzDecoder::new(body.as_slice()).take(LARGEST_ARCHIVE + 1);
    match unpacked.read_to_end(&mut archive) {
        Ok(length) if length as u64 <= LARGEST_ARCHIVE => Ok(archive),
        Ok(_) => {
            let why = format!("url.too_large: the archive has more than {LARGEST_ARCHIVE} bytes");
            Err(FetchError::never(Cause::Refused, why))
        }
        Err(_) => Err(FetchError::soon("url.damaged: the gzip is damaged".to_owned())),
    }
}

/// What is in a member. `left` bytes may come of all members together.
fn content(zip: &Zip<'_>, member: &Member, left: &mut u64) -> Result<Vec<u8>, MemberError> {
    let unpacked = zip.read(member).map_err(MemberError::Archive)?;
    let most = LARGEST_MEMBER.min(*left);
    let mut bytes = Vec::new();
    let read = unpacked.take(most + 1).read_to_end(&mut bytes);
    let length = bytes.len() as u64;
    *left = left.saturating_sub(length);
    read.map_err(MemberError::Damaged)?;
    match length > most {
        true => Err(MemberError::TooLarge(most)),
        false => Ok(bytes),
    }
}

/// Indexers that refuse say so in XML, and sites that want a login send a page.
fn not_an_nzb(error: &NzbError, headers: &Headers) -> FetchError {
    let why = match error {
        NzbError::Indexer { .. } => format!("url.newznab: {error}"),
        NzbError::NotNzb { .. } | NzbError::Empty => {
            let kind = headers.content_type.as_deref().unwrap_or("of no content type");
            format!("url.not_nzb: {error} ({kind})")
        }
        _ => return FetchError::never(Cause::Refused, explained(error)),
    };
    let mut missed = FetchError::never(Cause::Fetch, why);
    if let NzbError::Indexer { code, .. } = error {
        match code.trim().parse() {
            Ok(100..=199) => missed.account = Account::Denied,
            Ok(500 | 501) => missed.account = Account::UsedUp(LIMIT_PAUSE),
            _ => {}
        }
    }
    missed
}

/// A full disk may take it later; whatever else it is counts as an attempt.
fn unwritten(error: &StoreError, content: &[u8]) -> FetchError {
    let missed = FetchError::soon(format!("{}: {error}", error.code()));
    match error {
        StoreError::Full { .. } => {
            FetchError { again: Retry::OnceWritable(content.len() as u64), ..missed }
        }
        _ => missed,
    }
}

const DNZB_NAMES: [&str; 8] =
    ["Details", "EpisodeName", "Failure", "MoreInfo", "NFO", "ProperName", "RCode", "Year"];

/// Indexers count by the day, and do not say when it began.
const LIMIT_PAUSE: Duration = Duration::from_secs(60 * 60);

const MOST_PARAMETERS: usize = 32;
const LONGEST_PARAMETER: usize = 1000;

const MOST_NZBS: usize = 1000;

/// Of all NZBs of an archive together: it takes a second or two.
const MOST_UNPACKED: u64 = 256 << 20;

/// One at a time is in memory, beside the first good one.
const LARGEST_MEMBER: u64 = 16 << 20;

const LARGEST_ARCHIVE: u64 = 32 << 20;
