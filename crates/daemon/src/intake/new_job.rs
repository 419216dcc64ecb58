//! [`NewJobs`]: makes jobs of NZBs and puts them into the spool, from wherever they come. Shared by all threads and
//! tasks that take NZBs in.

use std::io::{Cursor, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use bergamot_api::request::{Content, NewJob};
use bergamot_jobs::engine_job::contents;
use bergamot_jobs::machine::SpoolView;
use bergamot_jobs::{Dupe, Fingerprint, Outcome, Parameters, Record};
use bergamot_nzb::{Label, Limits, Nzb, NzbError};
use bergamot_queue::{Cause, Deletion, DupeMode, Ending, JobState};
use bergamot_store::{Addition, Spool, StoreError};
use bergamot_types::{JobId, Secret, Shown, Url};

use crate::clock;
use crate::intake::nzb_to_job::{NzbReadError, fingerprint, read_nzb};
use crate::settings::JobSettings;
use crate::shared::Current;
use bergamot_jobs::queue_order;

/// Its methods block on the disk; they may be called from any thread that can.
#[derive(Clone, Debug)]
pub(crate) struct NewJobs {
    pub(crate) spool: Arc<Spool>,
    settings: Current<JobSettings>,
    bottom: Arc<AtomicI64>, // the rank of the last in the queue
}

/// The properties requested for a new job, beside those in its NZB.
#[derive(Clone, Debug, Default)]
pub struct Wishes {
    /// The name of its file, which may hold a category and a password.
    pub file_name: String,
    /// Where it came from, to know it again.
    pub source: String,
    /// Wins over what the name and the NZB say.
    pub category: Option<String>,
    /// That of its category, if there is none.
    pub priority: Option<i32>,
    pub paused: bool,
    pub password: Option<Secret>,
    pub dupe: Dupe,
    pub parameters: Parameters,
}

impl NewJobs {
    pub(crate) fn new(spool: Arc<Spool>, settings: Current<JobSettings>) -> Self {
        Self { spool, settings, bottom: Arc::default() }
    }

    /// The job of these articles that is queued or completed, and where it came from.
    pub(crate) fn same_articles(&self, print: Fingerprint) -> Option<(JobId, Arc<str>)> {
        self.spool.same_articles(print)
    }

    pub(crate) fn accepts_duplicates(&self) -> bool {
        self.settings.get().accept_duplicates
    }

    /// The name, category and password in the name of an NZB file.
    pub(crate) fn label(&self, file_name: &str) -> Label {
        let settings = self.settings.get();
        Label::parse(file_name, |text| settings.directories.category(text).is_some())
    }

    pub(crate) fn record(&self, nzb: &Nzb, print: Fingerprint, wishes: &Wishes) -> Record {
        self.record_as(self.spool.next_id(), nzb, print, wishes)
    }

    /// The same for a job that has its number already.
    pub(crate) fn record_as(
        &self,
        job: JobId,
        nzb: &Nzb,
        print: Fingerprint,
        wishes: &Wishes,
    ) -> Record {
        let label = self.label(&wishes.file_name);
        let categories =
            [wishes.category.as_ref(), label.category.as_ref(), nzb.meta.category.as_ref()];
        let category = categories.into_iter().flatten().find(|text| !text.trim().is_empty());
        let settings = self.settings.get();
        let known = category.and_then(|text| settings.directories.category(text));
        let parameter = wishes.parameters.get(PASSWORD).map(Secret::new);
        let password = wishes.password.clone().or(parameter);
        let password = password.or_else(|| nzb.meta.passwords.first().cloned()).or(label.password);
        let name = job_name(label.name, nzb);
        let mut record = Record::new(job, &name, clock::now().date, &wishes.source, print);
        record.rank = self.next_rank();
        record.category = known.map(|known| known.name.as_str().into());
        record.category = record.category.or_else(|| category.map(|text| text.as_str().into()));
        let usual = known.map_or(0, |known| known.priority);
        record.priority =
            wishes.priority.unwrap_or(usual).clamp(-LARGEST_PRIORITY, LARGEST_PRIORITY);
        record.paused = wishes.paused;
        record.password = password.filter(|password| !password.reveal().is_empty());
        record.dupe = wishes.dupe.clone();
        record.parameters = wishes.parameters.clone();
        record.contents = contents(nzb);
        record
    }

    /// The NZB of a job that is in the spool, read anew.
    pub(crate) fn nzb(&self, record: &Record) -> Result<Nzb, NzbReadError> {
        read_nzb(&self.spool, record)
    }

    pub(crate) fn spool(&self, record: &Record, nzb: &mut dyn Read) -> Result<(), StoreError> {
        self.spool.add(record, nzb)
    }

    /// Each with its result.
    pub(crate) fn spool_all(&self, additions: &mut [Addition<'_>]) -> Vec<Result<(), StoreError>> {
        self.spool.add_all(additions)
    }

    /// Takes an NZB that came over a control interface. What cannot be downloaded becomes history at
    /// once, so that the client can look up the reason.
    pub(crate) fn receive(&self, wishes: &Wishes, content: &[u8]) -> Result<Record, StoreError> {
        let nzb = match bergamot_nzb::read(content, &Limits::default()) {
            Ok(nzb) => nzb,
            Err(error) => return self.refuse(wishes, content, &explained(&error)),
        };
        let print = fingerprint(&nzb);
        let is_welcome = wishes.dupe.mode == DupeMode::Force || self.accepts_duplicates();
        let known = self.same_articles(print).filter(|_| !is_welcome);
        let mut record = self.record(&nzb, print, wishes);
        if let Some((job, _)) = known {
            let why = format!("nzb.duplicate: job {job} has the same articles");
            self.end(&mut record, Ending::Deleted(Deletion::Copy), &why);
        }
        self.spool(&record, &mut Cursor::new(content))?;
        Ok(record)
    }

    /// History from the beginning.
    pub(crate) fn refuse(
        &self,
        wishes: &Wishes,
        content: &[u8],
        why: &str,
    ) -> Result<Record, StoreError> {
        let mut record = self.record(&Nzb::default(), Fingerprint::default(), wishes);
        self.end(&mut record, Ending::Failed(Cause::Refused), why);
        self.spool(&record, &mut Cursor::new(content))?;
        Ok(record)
    }

    /// A job whose NZB is still to be fetched. Until it comes, the job has a name of its address.
    pub(crate) fn expect(&self, wishes: &Wishes, url: &Url) -> Result<Record, StoreError> {
        let mut record = self.record(&Nzb::default(), Fingerprint::default(), wishes);
        if record.name.is_empty() {
            record.name = provisional_name(url).into();
        }
        record.url = Some(url.reveal().into());
        record.source = format!("url {url}").into();
        record.life = JobState::Fetching;
        record.priority_is_open = wishes.priority.is_none() && record.category.is_none();
        self.spool(&record, &mut std::io::empty())?;
        Ok(record)
    }

    fn end(&self, record: &mut Record, ending: Ending, why: &str) {
        let mut outcome = Outcome::new(ending, clock::now().date, why);
        outcome.sequence = self.spool.next_sequence();
        record.end(outcome);
    }
}

impl SpoolView for NewJobs {
    fn next_id(&self) -> JobId {
        self.spool.next_id()
    }

    fn next_sequence(&self) -> u64 {
        self.spool.next_sequence()
    }

    fn next_rank(&self) -> i64 {
        self.bottom.fetch_add(queue_order::GAP, Ordering::Relaxed) + queue_order::GAP
    }

    fn stay_below(&self, rank: i64) {
        self.bottom.fetch_max(rank, Ordering::Relaxed);
    }

    fn copies(&self, fingerprint: Fingerprint) -> Vec<JobId> {
        self.spool.copies(fingerprint)
    }

    fn has_nzb(&self, job: JobId) -> bool {
        self.spool.nzb(job).is_ok()
    }
}

impl Wishes {
    /// Splits a request of a control interface into the properties of the job and the content.
    pub(crate) fn of(new: NewJob) -> (Self, Content) {
        let mut parameters = Parameters::default();
        new.parameters.iter().for_each(|it| parameters.set(&it.name, &it.value));
        // Only its last part: the rest is some path of the sender.
        let name = new.name.rsplit(['/', '\\']).next().unwrap_or_default();
        let wishes = Self {
            file_name: name.to_owned(),
            source: format!("rpc {}", Shown(name)),
            category: new.category,
            priority: new.priority,
            paused: new.paused,
            password: new.password,
            dupe: Dupe { key: new.dupe_key.into(), score: new.dupe_score, mode: new.dupe_mode },
            parameters,
        };
        (wishes, new.content)
    }
}

/// What a job is called as long as only its address is known.
pub(crate) fn provisional_name(url: &Url) -> String {
    let name = url.file_name().map(|name| Label::parse(&name, |_| false).name);
    name.filter(|name| !name.is_empty()).unwrap_or_else(|| url.host().to_owned())
}

pub(crate) fn job_name(label: String, nzb: &Nzb) -> String {
    let meta = || nzb.meta.title.clone().or_else(|| nzb.meta.name.clone());
    let first_file = || nzb.files.iter().find_map(|file| file.name().map(str::to_owned));
    Some(label)
        .filter(|name| !name.is_empty())
        .or_else(meta)
        .or_else(first_file)
        .unwrap_or_default()
}

pub(crate) fn explained_unread(error: &NzbReadError) -> String {
    match error {
        NzbReadError::Nzb(error) => explained(error),
        NzbReadError::Store(error) => format!("{}: {error}", error.code()),
    }
}

/// The error with its causes, behind its code.
pub(crate) fn explained(error: &NzbError) -> String {
    let mut text = format!("{}: {error}", error.code());
    let mut cause = std::error::Error::source(error);
    while let Some(next) = cause {
        text.push_str(&format!(": {next}"));
        cause = next.source();
    }
    text
}

/// The parameter that holds the password of an archive.
pub(crate) const PASSWORD: &str = "*Unpack:Password";

/// Beyond what any client gives, and far from where numbers end.
const LARGEST_PRIORITY: i32 = 1_000_000;
