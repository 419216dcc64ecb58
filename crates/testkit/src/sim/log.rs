//! [`Log`]: every event and order of a day, as a checksum or as text. Pure.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use bergamot_engine::{Credit, Event, Failure, Note, Notice, Order};
use bergamot_queue::{FileKey, Part};

/// Sums numbers, which is quick; writing them down is not, so that is done only when asked for.
#[derive(Debug)]
pub(crate) struct Log {
    sum: u64,
    text: Option<String>,
}

impl Log {
    pub(crate) fn new(as_text: bool) -> Self {
        Self { sum: 0, text: as_text.then(String::new) }
    }

    pub(crate) fn event(&mut self, now: Duration, event: &Event) {
        self.add(&[now.as_nanos() as u64]);
        self.add_event(event);
        let Some(text) = &mut self.text else { return };
        let _ = match event {
            Event::JobAdded(job) => writeln!(text, "{now:?} JobAdded {}", job.id),
            event => writeln!(text, "{now:?} {event:?}"),
        };
    }

    /// An instant is another one in each run; what is left until then is not.
    pub(crate) fn order(&mut self, now: Instant, order: &Order) {
        self.add_order(order);
        let Some(text) = &mut self.text else { return };
        let _ = match order {
            Order::Lend { connection, credit: Credit::Bytes { most, until } } => {
                let left = until.saturating_duration_since(now);
                writeln!(text, "    Lend {{ {connection:?}, {most:?} for {left:?} }}")
            }
            order => writeln!(text, "    {order:?}"),
        };
    }

    pub(crate) fn sum(&self) -> u64 {
        self.sum
    }

    pub(crate) fn into_text(self) -> String {
        self.text.unwrap_or_default()
    }

    fn add(&mut self, words: &[u64]) {
        for &word in words {
            let mixed = (self.sum ^ word).wrapping_mul(0xff51_afd7_ed55_8ccd);
            self.sum = mixed ^ (mixed >> 32);
        }
    }

    fn add_event(&mut self, event: &Event) {
        match event {
            Event::Connected { connection } => self.add(&[1, connection.0]),
            Event::DiskReturned => self.add(&[19]),
            Event::DownloadPaused => self.add(&[40]),
            Event::DownloadResumed => self.add(&[41]),
            Event::Ended { connection, trouble, unanswered } => {
                self.add(&[2, connection.0, *trouble as u64]);
                unanswered.iter().for_each(|ticket| self.add(&[ticket.0]));
            }
            Event::ErrandConnected(errand) => self.add(&[90, errand.0]),
            Event::ErrandDropped(errand) => self.add(&[50, errand.0]),
            Event::ErrandEnded { errand, trouble } => self.add(&[51, errand.0, *trouble as u64]),
            Event::ErrandWanted { errand, .. } => self.add(&[52, errand.0]),
            Event::Fetched { ticket, part, fault } => {
                self.add(&[3, ticket.0, u64::from(fault.is_some())]);
                self.add_part(part);
            }
            Event::FileFinished { file, result } => {
                self.add(&[4, u64::from(result.is_ok())]);
                self.add_file(*file);
            }
            Event::FileDropped(file) => self.add(&[42, file.job.0.into(), file.file.into()]),
            Event::FilePaused(file) => self.add(&[43, file.job.0.into(), file.file.into()]),
            Event::FileResumed(file) => self.add(&[44, file.job.0.into(), file.file.into()]),
            Event::FilesAdded { job, more } => {
                self.add(&[57, job.0.into(), more.files.len() as u64]);
            }
            Event::FilesOrdered { job, order } => {
                self.add(&[58, job.0.into()]);
                order.iter().for_each(|file| self.add(&[u64::from(*file)]));
            }
            Event::RateChanged(rate) => self.add(&[45, rate.map_or(u64::MAX, |rate| rate.0)]),
            Event::JobAdded(job) => self.add(&[5, u64::from(job.id.0)]),
            Event::JobProcessed { job, result } => {
                self.add(&[6, u64::from(job.0), u64::from(result.is_ok())]);
            }
            Event::JobPaused(job) => self.add(&[16, u64::from(job.0)]),
            Event::JobPlaced { job, priority, rank } => {
                self.add(&[18, u64::from(job.0), *priority as u64, *rank as u64]);
            }
            Event::JobRemoved(job) => self.add(&[7, u64::from(job.0)]),
            Event::JobResumed(job) => self.add(&[17, u64::from(job.0)]),
            Event::Missing { ticket } => self.add(&[8, ticket.0]),
            Event::Persisted { number, result } => {
                self.add(&[15, *number, u64::from(result.is_ok())]);
            }
            Event::Present { ticket } => self.add(&[53, ticket.0]),
            Event::ProbeDropped(job) => self.add(&[54, u64::from(job.0)]),
            Event::ProbeWanted { job, .. } => self.add(&[55, u64::from(job.0)]),
            Event::Progress { ticket, received } => self.add(&[14, ticket.0, received.0]),
            Event::Refused { ticket } => self.add(&[9, ticket.0]),
            Event::ServerProbeWanted(server) => self.add(&[56, u64::from(server.0)]),
            Event::SettingsChanged(settings) => self.add(&[46, settings.servers.len() as u64]),
            Event::StateUnwritable => self.add(&[91]),
            Event::StateWritable => self.add(&[92]),
            Event::CreditWanted { connection } => self.add(&[10, connection.0]),
            Event::Timeout => self.add(&[11]),
            Event::CreditReturned { connection, bytes } => self.add(&[12, connection.0, bytes.0]),
            Event::Written { ticket, result } => {
                self.add(&[13, ticket.0, u64::from(result.is_ok())]);
            }
        }
    }

    fn add_order(&mut self, order: &Order) {
        match order {
            Order::Admit { ticket, reserve, .. } => self.add(&[20, ticket.0, *reserve as u64]),
            Order::Connect { connection, server } => {
                self.add(&[21, connection.0, u64::from(server.0)]);
            }
            Order::DeleteFiles { job } => self.add(&[34, u64::from(job.0)]),
            Order::Discard { ticket } => self.add(&[22, ticket.0]),
            Order::Disconnect { connection } => self.add(&[23, connection.0]),
            Order::FailJob { job, failure } => {
                let failure = match failure {
                    Failure::Disk => 0,
                    Failure::Incomplete => 1,
                    Failure::Health { .. } => 2,
                    Failure::ServersDown => 3,
                    Failure::Processing(_) => 4,
                };
                self.add(&[24, u64::from(job.0), failure]);
            }
            Order::Fetch { connection, ticket, .. } => self.add(&[25, connection.0, ticket.0]),
            Order::FinishFile { file, .. } => {
                self.add(&[26]);
                self.add_file(*file);
            }
            Order::JobDownloaded { job, verified } => {
                self.add(&[27, u64::from(job.0), u64::from(*verified)]);
            }
            Order::Lend { connection, credit } => {
                let most = if let Credit::Bytes { most, .. } = credit { most.0 } else { 0 };
                self.add(&[28, connection.0, most]);
            }
            Order::Note(note) => self.add_note(note),
            Order::Persist { number, .. } => self.add(&[33, *number]),
            Order::Probed { job, census } => {
                self.add(&[57, u64::from(job.0), u64::from(census.present)]);
            }
            Order::RecallErrand { errand } => self.add(&[58, errand.0]),
            Order::Reserve { size, .. } => self.add(&[29, *size]),
            Order::Revoke { connection } => self.add(&[30, connection.0]),
            Order::StartErrand { errand, server } => {
                self.add(&[59, errand.0, u64::from(server.0)]);
            }
            Order::Stat { connection, ticket, .. } => self.add(&[60, connection.0, ticket.0]),
            Order::Tell(notice) => self.add(&[31, notice_number(notice)]),
            Order::Write { ticket, offset, .. } => self.add(&[32, ticket.0, *offset]),
        }
    }

    fn add_note(&mut self, note: &Note) {
        match note {
            Note::Forgotten { file } => self.add(&[35, u64::from(file.job.0), file.file.into()]),
            Note::Reopened { key } => self.add(&[36, key.file.into(), key.segment.into()]),
            Note::Written { key, .. } => self.add(&[37, key.file.into(), key.segment.into()]),
        }
    }

    fn add_part(&mut self, part: &Part) {
        self.add(&[part.begin.unwrap_or(u64::MAX), part.length, u64::from(part.verified)]);
    }

    fn add_file(&mut self, file: FileKey) {
        self.add(&[u64::from(file.job.0), u64::from(file.file)]);
    }
}

fn notice_number(notice: &Notice) -> u64 {
    match notice {
        Notice::AlternateChosen { .. } => 13,
        Notice::ArticleLost { .. } => 1,
        Notice::ArticleRefused { .. } => 2,
        Notice::BeyondRepair { .. } => 12,
        Notice::CeilingLowered { .. } => 3,
        Notice::DiskPaused { .. } => 4,
        Notice::DiskResumed => 5,
        Notice::QuotaReached { .. } => 9,
        Notice::QuotaRenewed { .. } => 10,
        Notice::ScheduleChanged { .. } => 11,
        Notice::ServerRests { .. } => 6,
        Notice::ServerWorks { .. } => 7,
    }
}
