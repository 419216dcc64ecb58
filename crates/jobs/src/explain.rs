//! [`Explanation`]: why the queue or a job stands as it does, in a sentence and with the evidence. Pure.
//!
//! What explains most comes first: a pause before the servers, the servers before the limit.

use std::time::Duration;

use bergamot_types::{ByteCount, ByteRate};
use serde::Serialize;

use crate::pauses::Paused;

/// Why something stands as it does: one sentence, and the evidence.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Explanation {
    pub sentence: String,
    /// A word for programs: `downloading`, `limited`, `paused`, `quota`, `disk`, `servers-down`,
    /// `waiting`, `idle`, `failed`, …
    pub code: String,
    pub evidence: Vec<Evidence>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Evidence {
    /// What it is about: `server`, `limit`, `quota`, `disk`, `connections`, `articles`, `pause`, …
    pub about: String,
    pub who: Option<String>,
    pub fact: String,
    pub value: Option<f64>,
}

/// All that may hold things up.
#[derive(Clone, Debug, Default)]
pub struct Situation {
    pub jobs: usize,
    /// People have paused each of them.
    pub all_are_paused: bool,
    pub requests: usize,
    pub rate: u64,
    pub limit: Option<u64>,
    pub pause: Option<Paused>,
    /// The code and the sentence.
    pub hold: Option<(&'static str, String)>,
    /// Why no job can be begun.
    pub loading: Option<String>,
    /// As long as the disk holds things up.
    pub disk: Option<String>,
    pub servers: Vec<ServerState>,
}

#[derive(Clone, Debug, Default)]
pub struct ServerState {
    pub name: String,
    pub active: bool,
    pub working: usize,
    pub allowed: usize,
    pub configured: usize,
    pub rate: u64,
    /// Why it is left alone, and for how many seconds.
    pub rests: Option<(String, u64)>,
}

/// What is known of one job.
#[derive(Clone, Debug, Default)]
pub struct JobSituation {
    pub paused: bool,
    /// Jobs that go before it.
    pub ahead: usize,
    pub requests: usize,
    pub remaining: u64,
    pub lost: u32,
    pub articles: u32,
    pub health: u16,
    pub critical: u16,
    /// How many articles wait for a server, and why.
    pub waiting: Vec<(usize, String)>,
    /// So many seconds, until its articles may be everywhere.
    pub rests: Option<u64>,
    /// What it has to get over, if it is something else.
    pub rests_for: Option<String>,
    /// Why the disk does not take it.
    pub held: Option<String>,
    /// How many of a sample of its articles are nowhere to be had.
    pub sample: Option<(u32, u32)>,
    /// How it ended.
    pub ended: Option<String>,
    pub is_moving: bool,
    /// How it stands with its NZB, until that is there.
    pub fetching: Option<String>,
}

impl Situation {
    pub fn explain(&self) -> Explanation {
        let (code, sentence) = self.what_matters();
        Explanation { code: code.to_owned(), sentence, evidence: self.evidence() }
    }

    fn what_matters(&self) -> (&'static str, String) {
        let usable = || self.servers.iter().filter(|server| server.active);
        let resting = || usable().filter(|server| server.rests.is_some());
        let broken = || {
            let told: Vec<_> = resting().map(ServerState::trouble).collect();
            (!told.is_empty()).then(|| format!(" Not to be used: {}.", told.join("; ")))
        };
        if self.jobs == 0 {
            let broken = broken().unwrap_or_default();
            return ("idle", format!("There is nothing to download.{broken}"));
        }
        if let Some(pause) = &self.pause {
            return ("paused", format!("Paused by {}; what ends it: {}.", pause.by, pause.ends()));
        }
        if self.all_are_paused {
            return ("paused", "Every job in the queue is paused.".to_owned());
        }
        if let Some((code, why)) = &self.hold {
            return (code, format!("Nothing is fetched: {why}."));
        }
        if let Some(why) = &self.disk {
            return ("disk", format!("The disk holds things up: {why}."));
        }
        if usable().next().is_none() {
            return ("no-servers", "There is no server to ask.".to_owned());
        }
        if usable().count() == resting().count() {
            let told: Vec<_> = resting().map(ServerState::trouble).collect();
            return ("servers-down", format!("No server can be asked: {}.", told.join("; ")));
        }
        if let Some(why) = self.loading.as_ref().filter(|_| self.requests == 0) {
            return ("loading", format!("No job can be begun: {why}."));
        }
        if self.requests == 0 {
            let why =
                "Nothing is asked for just now; a server is being dialled, or every job waits.";
            return ("waiting", format!("{why}{}", broken().unwrap_or_default()));
        }
        let rate = ByteRate(self.rate);
        if let Some(limit) = self.limit.filter(|limit| self.rate * 10 >= limit * 9) {
            return (
                "limited",
                format!(
                    "Downloading at {rate}, as fast as the limit of {} lets it.",
                    ByteRate(limit)
                ),
            );
        }
        if let Some(server) = resting().next() {
            return (
                "downloading",
                format!("Downloading at {rate}, without {}.", server.trouble()),
            );
        }
        if let Some(server) = usable().find(|server| server.allowed < server.configured) {
            let ServerState { name, allowed, configured, .. } = server;
            return (
                "downloading",
                format!(
                    "Downloading at {rate}; {name} lets us have {allowed} of {configured} connections."
                ),
            );
        }
        let sentence = match self.limit.map(ByteRate) {
            // The average takes its time to come near it.
            Some(limit) => format!("Downloading at {rate}; the limit is {limit}."),
            None => format!("Downloading at {rate}, as fast as the servers give."),
        };
        ("downloading", sentence)
    }

    pub fn evidence(&self) -> Vec<Evidence> {
        let mut all = vec![
            evidence("queue", None, "jobs", self.jobs as f64),
            evidence("connections", None, "requests under way", self.requests as f64),
            evidence("rate", None, "bytes per second", self.rate as f64),
        ];
        all.extend(
            self.limit.map(|limit| evidence("limit", None, "bytes per second", limit as f64)),
        );
        all.extend(self.pause.as_ref().map(|pause| said("pause", Some(&pause.by), pause.ends())));
        all.extend(self.hold.as_ref().map(|(code, why)| said(code, None, why)));
        all.extend(self.disk.as_ref().map(|why| said("disk", None, why)));
        all.extend(self.loading.as_ref().map(|why| said("loading", None, why)));
        for server in self.servers.iter().filter(|server| server.active) {
            let who = Some(server.name.as_str());
            all.push(evidence("server", who, "connections working", server.working as f64));
            all.push(evidence("server", who, "connections allowed", server.allowed as f64));
            all.push(evidence("server", who, "bytes per second", server.rate as f64));
            all.extend(server.rests.as_ref().map(|(why, _)| said("server", who, why)));
        }
        all
    }
}

impl JobSituation {
    /// `around` is how everything else stands.
    pub fn explain(&self, around: &Situation) -> Explanation {
        let (code, sentence) = self.what_matters(around);
        let mut evidence = vec![
            self::evidence("articles", None, "of the job", self.articles.into()),
            self::evidence("articles", None, "lost", self.lost.into()),
            self::evidence("health", None, "thousandths", self.health.into()),
            self::evidence(
                "health",
                None,
                "thousandths below which nothing repairs it",
                self.critical.into(),
            ),
            self::evidence("queue", None, "jobs before it", self.ahead as f64),
        ];
        if let Some((missing, all)) = self.sample {
            let what = format!("missing of a sample of {all}");
            evidence.push(self::evidence("sample", None, &what, missing.into()));
        }
        for (count, why) in &self.waiting {
            evidence.push(Evidence { value: Some(*count as f64), ..said("articles", None, why) });
        }
        evidence.extend(around.evidence());
        Explanation { code, sentence, evidence }
    }

    fn what_matters(&self, around: &Situation) -> (String, String) {
        let whole = around.what_matters();
        if let Some(ended) = &self.ended {
            return ("ended".to_owned(), ended.clone());
        }
        if let Some(fetching) = &self.fetching {
            return ("fetching".to_owned(), fetching.clone());
        }
        if self.is_moving {
            return (
                "moving".to_owned(),
                "It is complete and on its way to its destination.".to_owned(),
            );
        }
        if self.paused {
            return ("paused".to_owned(), "The job is paused; a resume ends that.".to_owned());
        }
        if let Some(why) = &self.held {
            return ("disk".to_owned(), format!("It waits for the disk: {why}."));
        }
        if let Some(seconds) = self.rests {
            let time = Duration::from_secs(seconds);
            let (code, why) = match &self.rests_for {
                Some(why) => ("resting", why.as_str()),
                None => ("propagating", "Its articles may not have reached every server"),
            };
            return (code.to_owned(), format!("{why}; it waits {time:?}."));
        }
        if self.requests > 0 {
            let left = ByteCount(self.remaining);
            let lost = match self.lost {
                0 => String::new(),
                lost => format!(", and {lost} of its {} articles are lost", self.articles),
            };
            return (
                whole.0.to_owned(),
                format!("It is being downloaded, {left} are left{lost}. {}", whole.1),
            );
        }
        if let Some((count, why)) = self.waiting.first() {
            return ("waiting".to_owned(), format!("{count} of its articles wait: {why}."));
        }
        match whole.0 {
            "downloading" | "limited" if self.ahead > 0 => {
                ("queued".to_owned(), format!("{} jobs are before it.", self.ahead))
            }
            code => (code.to_owned(), whole.1),
        }
    }
}

impl ServerState {
    fn trouble(&self) -> String {
        match &self.rests {
            Some((why, seconds)) => format!("{} ({why}; tried again in {seconds} s)", self.name),
            None => self.name.clone(),
        }
    }
}

fn evidence(about: &str, who: Option<&str>, fact: &str, value: f64) -> Evidence {
    Evidence { value: Some(value), ..said(about, who, fact) }
}

fn said(about: &str, who: Option<&str>, fact: &str) -> Evidence {
    Evidence {
        about: about.to_owned(),
        who: who.map(str::to_owned),
        fact: fact.to_owned(),
        value: None,
    }
}

#[cfg(test)]
mod tests {
    use bergamot_types::UnixTime;

    use super::*;

    fn server(name: &str) -> ServerState {
        let name = name.to_owned();
        ServerState { name, active: true, allowed: 8, configured: 8, ..ServerState::default() }
    }

    fn busy() -> Situation {
        Situation {
            jobs: 2,
            requests: 8,
            rate: 5_000_000,
            servers: vec![server("a")],
            ..Situation::default()
        }
    }

    fn pause() -> Paused {
        Paused { by: "ann".to_owned(), since: UnixTime(0), until: None }
    }

    #[test]
    fn a_queue_of_paused_jobs_is_said_to_be_one() {
        let paused = Situation { all_are_paused: true, requests: 0, ..busy() };
        assert_eq!(paused.what_matters().0, "paused");
        let idle = Situation { jobs: 0, ..paused };
        assert_eq!(idle.what_matters().0, "idle");
    }

    #[test]
    fn the_queue_is_explained_by_what_matters_most() {
        let rests =
            |name: &str| ServerState { rests: Some(("unreachable".to_owned(), 8)), ..server(name) };
        let fewer = ServerState { allowed: 3, ..server("a") };
        for (situation, code, words) in [
            (Situation::default(), "idle", "nothing to download"),
            (
                Situation { pause: Some(pause()), ..busy() },
                "paused",
                "by ann; what ends it: a resume",
            ),
            (
                Situation { hold: Some(("quota", "the quota is reached".to_owned())), ..busy() },
                "quota",
                "the quota is reached",
            ),
            (Situation { disk: Some("full".to_owned()), ..busy() }, "disk", "full"),
            (Situation { servers: vec![], ..busy() }, "no-servers", "no server"),
            (
                Situation { servers: vec![rests("a"), rests("b")], ..busy() },
                "servers-down",
                "b (unreachable; tried again in 8 s)",
            ),
            (
                Situation { servers: vec![server("a"), rests("b")], ..busy() },
                "downloading",
                "without b",
            ),
            (Situation { servers: vec![fewer], ..busy() }, "downloading", "3 of 8 connections"),
            (Situation { limit: Some(5_000_000), ..busy() }, "limited", "the limit of 5.0 MB/s"),
            (
                Situation { limit: Some(50_000_000), ..busy() },
                "downloading",
                "the limit is 50.0 MB/s",
            ),
            (busy(), "downloading", "as fast as the servers give"),
            (
                Situation { requests: 0, loading: Some("full".to_owned()), ..busy() },
                "loading",
                "full",
            ),
            (Situation { requests: 0, ..busy() }, "waiting", "just now"),
        ] {
            let explained = situation.explain();
            assert_eq!(explained.code, code, "{explained:?}");
            assert!(explained.sentence.contains(words), "{explained:?}");
        }
    }

    #[test]
    fn a_job_is_explained_by_itself_before_the_queue() {
        let job = JobSituation { remaining: 1000, articles: 9, ..JobSituation::default() };
        for (job, around, code, words) in [
            (
                JobSituation { ended: Some("Gone.".to_owned()), ..job.clone() },
                busy(),
                "ended",
                "Gone.",
            ),
            (JobSituation { paused: true, ..job.clone() }, busy(), "paused", "a resume ends"),
            (JobSituation { rests: Some(90), ..job.clone() }, busy(), "propagating", "waits 90s"),
            (
                JobSituation { held: Some("no room".to_owned()), rests: Some(9), ..job.clone() },
                busy(),
                "disk",
                "It waits for the disk: no room",
            ),
            (
                JobSituation { requests: 1, lost: 2, ..job.clone() },
                busy(),
                "downloading",
                "2 of its 9 articles are lost",
            ),
            (
                JobSituation { waiting: vec![(3, "b rests".to_owned())], ..job.clone() },
                busy(),
                "waiting",
                "3 of its articles wait: b rests",
            ),
            (JobSituation { ahead: 4, ..job.clone() }, busy(), "queued", "4 jobs are before it"),
            (job.clone(), Situation { pause: Some(pause()), ..busy() }, "paused", "ann"),
            (JobSituation { is_moving: true, ..job.clone() }, busy(), "moving", "complete"),
            (
                JobSituation { fetching: Some("It is fetched.".to_owned()), ..job },
                busy(),
                "fetching",
                "fetched",
            ),
        ] {
            let explained = job.explain(&around);
            assert_eq!(explained.code, code, "{explained:?}");
            assert!(explained.sentence.contains(words), "{explained:?}");
        }
    }
}
