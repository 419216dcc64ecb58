//! [`Event`]: a change of state that subscribers are sent; the daemon's loop creates it.

use bergamot_queue::Stage;
use bergamot_types::{JobId, ServerId, UnixTime};
use serde::Serialize;

use crate::request::Part;
use crate::view::{Disk, JobState, LogLine, Paused, Probe, Quota};

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "is", rename_all = "kebab-case")]
pub enum Event {
    JobAdded {
        #[serde(with = "crate::wire::job_id")]
        job: JobId,
        name: String,
        category: Option<String>,
        size: u64,
    },
    /// Its name, position, priority or another property that a user can set.
    JobChanged {
        #[serde(with = "crate::wire::job_id")]
        job: JobId,
    },
    JobState {
        #[serde(with = "crate::wire::job_id")]
        job: JobId,
        state: JobState,
        /// A code and a sentence, where it failed.
        reason: Option<String>,
    },
    /// Only when it changed.
    JobProgress {
        #[serde(with = "crate::wire::job_id")]
        job: JobId,
        remaining: u64,
        health: u16,
    },
    /// The result of a probe of its articles; sent when it changes.
    JobOutlook {
        #[serde(with = "crate::wire::job_id")]
        job: JobId,
        #[serde(flatten)]
        probe: Probe,
    },
    /// The progress of a stage after the download, in thousandths.
    JobStage {
        #[serde(with = "crate::wire::job_id")]
        job: JobId,
        stage: Stage,
        progress: u16,
    },
    /// Neither in the queue nor in the history any more.
    JobRemoved {
        #[serde(with = "crate::wire::job_id")]
        job: JobId,
    },
    /// Another job has become the current one, or the current one has moved in the queue.
    #[serde(rename = "queue.current")]
    QueueCurrent {
        #[serde(with = "crate::wire::optional_job_id")]
        job: Option<JobId>,
        /// Its index in the queue, from 0.
        order: Option<usize>,
        #[serde(with = "crate::wire::time")]
        computed_at: UnixTime,
    },
    ServerDown {
        #[serde(with = "crate::wire::server_id")]
        server: ServerId,
        name: String,
        trouble: String,
    },
    ServerUp {
        #[serde(with = "crate::wire::server_id")]
        server: ServerId,
        name: String,
    },
    Rate {
        rate: u64,
        limit: Option<u64>,
    },
    Quota(Quota),
    /// None when it has ended.
    Pause {
        part: Part,
        paused: Option<Paused>,
    },
    /// It is full, or it can be written to again.
    Disk {
        disk: Disk,
        trouble: Option<String>,
    },
    Log(LogLine),
    /// A feed was read, or had not changed.
    FeedChecked {
        feed: u16,
        name: String,
        /// Items seen for the first time.
        new: usize,
        /// Those of them that become jobs.
        wanted: usize,
    },
    FeedFailed {
        feed: u16,
        name: String,
        code: String,
        message: String,
        /// Until it is configured otherwise, or a restart.
        stopped: bool,
    },
}

#[cfg(test)]
mod tests {
    use bergamot_queue::Cause;

    use super::*;
    use crate::view::LogKind;

    /// One of each kind.
    fn all() -> Vec<(Event, &'static str)> {
        let (job, server, at) = (JobId(7), ServerId(1), UnixTime(1_800_000_000));
        let disk = || Disk { path: "/data".to_owned(), free: 1, total: 2, ..Disk::default() };
        let name = || "one".to_owned();
        let paused = Paused { by: "ann".to_owned(), since: at, until: None, ends: name() };
        let quota =
            Quota { server: None, period: name(), limit: 2, used: 1, reached: false, renews: None };
        let outlook = bergamot_queue::Outlook::Hopeless;
        let probe = Probe { outlook, present: 1, missing: 19, unknown: 0, at };
        let line = LogLine { id: 1, kind: LogKind::Info, at, text: name() };
        vec![
            (
                Event::JobAdded { job, name: name(), category: None, size: 5 },
                r#"{"is":"job-added","job":7,"name":"one","category":null,"size":5}"#,
            ),
            (Event::JobChanged { job }, r#"{"is":"job-changed","job":7}"#),
            (
                Event::JobState { job, state: JobState::Failed(Cause::Disk), reason: None },
                r#"{"is":"job-state","job":7,"state":{"is":"failed","what":"disk"},"reason":null}"#,
            ),
            (
                Event::JobProgress { job, remaining: 5, health: 1000 },
                r#"{"is":"job-progress","job":7,"remaining":5,"health":1000}"#,
            ),
            (
                Event::JobOutlook { job, probe },
                r#"{"is":"job-outlook","job":7,"outlook":"hopeless","present":1,"missing":19,"unknown":0,"at":"2027-01-15T08:00:00Z"}"#,
            ),
            (
                Event::JobStage { job, stage: Stage::Moving, progress: 500 },
                r#"{"is":"job-stage","job":7,"stage":"moving","progress":500}"#,
            ),
            (Event::JobRemoved { job }, r#"{"is":"job-removed","job":7}"#),
            (
                Event::QueueCurrent { job: Some(job), order: Some(0), computed_at: at },
                r#"{"is":"queue.current","job":7,"order":0,"computed_at":"2027-01-15T08:00:00Z"}"#,
            ),
            (
                Event::ServerDown { server, name: name(), trouble: name() },
                r#"{"is":"server-down","server":1,"name":"one","trouble":"one"}"#,
            ),
            (
                Event::ServerUp { server, name: name() },
                r#"{"is":"server-up","server":1,"name":"one"}"#,
            ),
            (Event::Rate { rate: 5, limit: None }, r#"{"is":"rate","rate":5,"limit":null}"#),
            (
                Event::Quota(quota),
                r#"{"is":"quota","server":null,"period":"one","limit":2,"used":1,"reached":false,"renews":null}"#,
            ),
            (
                Event::Pause { part: Part::Download, paused: Some(paused) },
                r#"{"is":"pause","part":"download","paused":{"by":"ann","since":"2027-01-15T08:00:00Z","until":null,"ends":"one"}}"#,
            ),
            (
                Event::Disk { disk: disk(), trouble: None },
                r#"{"is":"disk","disk":{"path":"/data","free":1,"total":2,"reserve":0,"trouble":null},"trouble":null}"#,
            ),
            (
                Event::FeedChecked { feed: 1, name: name(), new: 5, wanted: 2 },
                r#"{"is":"feed-checked","feed":1,"name":"one","new":5,"wanted":2}"#,
            ),
            (
                Event::FeedFailed {
                    feed: 1,
                    name: name(),
                    code: "feed.denied".to_owned(),
                    message: name(),
                    stopped: true,
                },
                r#"{"is":"feed-failed","feed":1,"name":"one","code":"feed.denied","message":"one","stopped":true}"#,
            ),
            (
                Event::Log(line),
                r#"{"is":"log","id":1,"kind":"info","at":"2027-01-15T08:00:00Z","text":"one"}"#,
            ),
        ]
    }

    #[test]
    fn events_have_a_shape_that_stays() {
        for (event, expected) in all() {
            let text = serde_json::to_string(&event).expect("it can be written");
            assert_eq!(text, expected);
            let parsed: serde_json::Value = serde_json::from_str(&text).expect("it is JSON");
            assert_eq!(parsed.to_string().len(), text.len(), "no key twice: {text}");
        }
    }
}
