//! Jobs whose NZB is still to come from its address.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use bergamot_poll::Wanted;
use bergamot_queue::{Deletion, Ending, Life, Step};
use bergamot_store::Record;
use bergamot_types::{JobId, Shown, Url};
use tokio::task::AbortHandle;
use tracing::{info, warn};

use super::core::Daemon;
use super::happening::Happening;
use super::parcel::{Arrived, Parcel};
use super::reception::provisional_name;
use super::targets::{Lane, Poll};
use super::web::{Again, Missed};
use crate::clock;

/// How it stands with what is fetched.
#[derive(Debug, Default)]
pub(super) struct Fetches {
    attempts: HashMap<JobId, u32>,
    running: HashMap<JobId, AbortHandle>,
    resting: HashMap<String, Instant>, // hosts that asked for a pause, and until when
}

impl Daemon {
    /// After a start, with what the last daemon had no time for.
    pub(super) fn fetch_again(&mut self) {
        let left = self.jobs.queued().filter(|record| record.life == Life::Fetching);
        let left: Vec<_> = left.map(|record| record.id).collect();
        left.into_iter().for_each(|job| self.plan_fetch(job));
    }

    pub(super) fn plan_fetch(&mut self, job: JobId) {
        self.stop_fetching(job);
        let wanted = Wanted { kind: Lane::Urls, interval: FIRST_PAUSE, priority: 0, enabled: true };
        self.targets.set(clock::now().instant, Poll::Url(job), wanted);
    }

    /// Begins to fetch, beside the loop.
    pub(super) fn fetch(&mut self, job: JobId) {
        let now = clock::now().instant;
        let Some((record, url)) = self.to_be_fetched(job) else { return self.stop_fetching(job) };
        self.fetches.resting.retain(|_, until| *until > now);
        if let Some(until) = self.fetches.resting.get(url.host()) {
            self.targets.put_off(Poll::Url(job), *until);
            return;
        }
        let (web, outbox) = (self.web.clone(), self.outbox.clone());
        let (reception, reach) = (self.reception.clone(), self.job_settings.get().reach(&url));
        let running = tokio::spawn(async move {
            let unpack = move |response| reception.unpack(&record, response);
            let fetched = web.fetch(&url, reach, unpack).await;
            outbox.tell(Happening::Fetched { job, fetched: Box::new(fetched) });
        });
        self.fetches.running.insert(job, running.abort_handle());
    }

    /// None if it has come or ended, or has no address that could be asked.
    fn to_be_fetched(&self, job: JobId) -> Option<(Record, Url)> {
        let record = self.jobs.record(job)?;
        let is_wanted = record.life == Life::Fetching && record.outcome.is_none();
        let url = Url::parse(record.url.as_deref()?).ok()?;
        is_wanted.then(|| (record.clone(), url))
    }

    /// Nobody waits for its NZB any more.
    pub(super) fn stop_fetching(&mut self, job: JobId) {
        self.fetches.attempts.remove(&job);
        if let Some(running) = self.fetches.running.remove(&job) {
            running.abort();
        }
        self.targets.remove(Poll::Url(job));
        self.targets.put_off(Poll::Url(job), clock::now().instant);
    }

    pub(super) fn on_fetched(&mut self, job: JobId, fetched: Result<Parcel, Missed>) {
        let Some((record, url)) = self.to_be_fetched(job) else { return self.drop_what_came(job) };
        match fetched {
            Ok(parcel) => {
                self.stop_fetching(job);
                self.take_in(record, &url, parcel.arrived);
                for other in parcel.others {
                    drop(self.on_accepted(other));
                }
            }
            Err(missed) => self.on_missed(job, &url, &missed),
        }
    }

    /// Somebody deleted the job meanwhile.
    fn drop_what_came(&self, job: JobId) {
        if self.jobs.record(job).is_none() {
            let spool = self.spool.clone();
            // What cannot be removed is set aside at the next start.
            tokio::task::spawn_blocking(move || drop(spool.drop_nzb(job)));
        }
    }

    /// From here on it is a job like any other.
    fn take_in(&mut self, mut record: Record, url: &Url, arrived: Arrived) {
        let job = record.id;
        fill_in(&mut record, url, arrived);
        let settings = self.job_settings.get();
        let known = record.category.as_deref().and_then(|name| settings.category(name));
        record.category = known.map(|known| known.name.as_str().into()).or(record.category);
        info!(%job, name = %Shown(&record.name), size = %record.contents.bytes, "fetched");
        let twin = self.twin(&record);
        self.spool.expect(&record);
        if let Some(known) = self.jobs.record_mut(job) {
            *known = record;
        }
        self.jobs.step(job, Step::Fetched);
        if let Some(twin) = twin {
            let why = format!("nzb.duplicate: job {twin} has the same articles");
            return self.end(job, Ending::Deleted(Deletion::Copy), &why);
        }
        self.record(job);
        self.jobs.wait_again(job);
        self.tell_changed(job);
        self.tell_state(job);
        self.load_next();
    }

    fn on_missed(&mut self, job: JobId, url: &Url, missed: &Missed) {
        let now = clock::now().instant;
        let attempts = self.fetches.attempts.entry(job).or_default();
        *attempts += 1;
        let is_last = *attempts >= MOST_ATTEMPTS;
        let pause = match missed.again {
            Again::After(pause) => {
                self.fetches.resting.insert(url.host().to_owned(), now + pause);
                pause
            }
            _ => FIRST_PAUSE * 3_u32.saturating_pow(*attempts - 1),
        };
        if is_last || missed.again == Again::Never {
            return self.end(job, Ending::Failed(missed.cause), &missed.why);
        }
        warn!(%job, again_in = ?pause, "not fetched: {}", missed.why);
        self.targets.finished_until(now, Poll::Url(job), &Err::<(), ()>(()), now + pause);
    }
}

/// What people have said counts before what came with the NZB.
fn fill_in(record: &mut Record, url: &Url, arrived: Arrived) {
    record.fingerprint = arrived.fingerprint;
    record.contents = arrived.contents;
    if *record.name == *provisional_name(url) && !arrived.name.trim().is_empty() {
        record.name = arrived.name.into();
    }
    if record.category.is_none() {
        record.category = arrived.category.map(Into::into);
    }
    if record.password.is_none() {
        record.password = arrived.password;
    }
    for (name, value) in &arrived.parameters {
        if record.parameters.get(name).is_none() {
            record.parameters.set(name, value);
        }
    }
}

/// Then three times as long each time.
const FIRST_PAUSE: Duration = Duration::from_secs(10);

const MOST_ATTEMPTS: u32 = 5;
