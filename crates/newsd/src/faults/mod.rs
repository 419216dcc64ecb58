//! [`Faults`]: which faults occur when.
//!
//! The choice is a function of the seed, the rule, the message-id and how often that id was asked
//! for on this server (or of the number of the connection or login), so that it repeats.

pub(crate) mod fault;
pub(crate) mod manners;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bergamot_types::ByteRate;

use crate::faults::fault::{Fault, Stage};
use crate::posts::noise::{fraction, hash, mix};

/// The faults of one server. The first rule that hits decides.
#[derive(Clone, Debug, Default)]
pub struct Faults {
    seed: u64,
    rules: Vec<Rule>,
}

/// One fault and when it strikes: always, unless narrowed.
///
/// Narrowings combine: `Rule::new(Fault::Corrupt).at_rate(0.1).first_asks(1)` spoils the first
/// answer for every tenth article.
#[derive(Clone, Debug)]
pub struct Rule {
    fault: Fault,
    rate: f64,
    first_asks: Option<u32>,
    after: u64, // articles served
    lasting: bool,
    ids: Option<BTreeSet<String>>,
    line: Option<String>,
    switch: Option<Arc<AtomicBool>>,
    pub(crate) pace: ByteRate,
    pub(crate) delay: Duration,
}

impl Faults {
    pub fn none() -> Self {
        Self::default()
    }

    pub fn seeded(seed: u64) -> Self {
        Self { seed, rules: Vec::new() }
    }

    /// Adds a rule; a bare [`Fault`] is one that strikes always.
    #[must_use]
    pub fn with(mut self, rule: impl Into<Rule>) -> Self {
        self.rules.push(rule.into());
        self
    }

    /// `served`: how many articles the server has sent so far.
    pub(crate) fn for_article(&self, id: &str, asked: u32, served: u64) -> Option<&Rule> {
        self.strike(Stage::Article, id, asked, served)
    }

    pub(crate) fn for_nth(&self, stage: Stage, nth: u32) -> Option<&Rule> {
        self.strike(stage, "", nth, u64::MAX)
    }

    /// A number for *where* in an answer a fault strikes.
    pub(crate) fn die(&self, id: &str, asked: u32) -> u64 {
        mix(hash(self.seed, id) ^ u64::from(asked))
    }

    fn strike(&self, stage: Stage, id: &str, asked: u32, served: u64) -> Option<&Rule> {
        (1..)
            .zip(&self.rules)
            .filter(|(_, rule)| rule.fault.stage() == stage && served >= rule.after)
            .find(|(index, rule)| rule.strikes(self.seed ^ mix(*index), id, asked))
            .map(|(_, rule)| rule)
    }
}

impl Rule {
    pub fn new(fault: Fault) -> Self {
        Self {
            fault,
            rate: 1.0,
            first_asks: None,
            after: 0,
            lasting: false,
            ids: None,
            line: None,
            switch: None,
            pace: SLOW,
            delay: LATE,
        }
    }

    /// Strikes with this probability, from 0 to 1.
    #[must_use]
    pub fn at_rate(mut self, rate: f64) -> Self {
        self.rate = rate;
        self
    }

    /// Strikes only the first `count` times an article is asked for (a connection made, a login
    /// tried).
    #[must_use]
    pub fn first_asks(mut self, count: u32) -> Self {
        self.first_asks = Some(count);
        self
    }

    /// Strikes once the server has sent so many articles.
    #[must_use]
    pub fn after(mut self, articles: u64) -> Self {
        self.after = articles;
        self
    }

    /// A rate then chooses articles, not answers: what it hits once it hits each time, as with an
    /// article a server does not have.
    #[must_use]
    pub fn lasting(mut self) -> Self {
        self.lasting = true;
        self
    }

    /// Strikes only these articles.
    #[must_use]
    pub fn only(mut self, ids: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.ids = Some(ids.into_iter().map(Into::into).collect());
        self
    }

    /// Strikes only while the switch is on: an outage that the test begins and ends.
    #[must_use]
    pub fn while_on(mut self, switch: &Arc<AtomicBool>) -> Self {
        self.switch = Some(Arc::clone(switch));
        self
    }

    /// The line to say instead of the usual one, its code included.
    #[must_use]
    pub fn saying(mut self, line: impl Into<String>) -> Self {
        self.line = Some(line.into());
        self
    }

    /// How fast [`Fault::Slow`] drips.
    #[must_use]
    pub fn pace(mut self, pace: ByteRate) -> Self {
        self.pace = pace;
        self
    }

    /// How late [`Fault::Late`] is.
    #[must_use]
    pub fn delay(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    pub fn fault(&self) -> Fault {
        self.fault
    }

    /// What [`Rule::saying`] gave.
    pub(crate) fn own_line(&self) -> Option<&str> {
        self.line.as_deref()
    }

    pub(crate) fn line(&self) -> &str {
        self.line.as_deref().unwrap_or(self.fault.line())
    }

    fn strikes(&self, seed: u64, id: &str, asked: u32) -> bool {
        let asks = if self.lasting { 0 } else { u64::from(asked) };
        let is_on = |switch: &Arc<AtomicBool>| switch.load(Ordering::Relaxed);
        self.switch.as_ref().is_none_or(is_on)
            && self.first_asks.is_none_or(|count| asked < count)
            && self.ids.as_ref().is_none_or(|ids| ids.contains(id))
            && (self.rate >= 1.0 || fraction(mix(hash(seed, id) ^ asks)) < self.rate)
    }
}

impl From<Fault> for Rule {
    fn from(fault: Fault) -> Self {
        Self::new(fault)
    }
}

/// Below every client's patience, yet an article would end some day.
const SLOW: ByteRate = ByteRate(200);
/// Past every client's patience.
const LATE: Duration = Duration::from_secs(300);

#[cfg(test)]
mod tests {
    use super::*;

    fn hits(faults: &Faults, asked: u32) -> Vec<u32> {
        let hit = |n: &u32| faults.for_article(&format!("{n}@x"), asked, 0).is_some();
        (0..1000).filter(hit).collect()
    }

    #[test]
    fn a_rate_hits_about_as_often_and_repeats() {
        let faults = |seed| Faults::seeded(seed).with(Rule::new(Fault::Corrupt).at_rate(0.1));
        let first = hits(&faults(1), 0);
        assert!((70..130).contains(&first.len()), "{}", first.len());
        assert_eq!(first, hits(&faults(1), 0));
        assert_ne!(first, hits(&faults(2), 0));
        assert_ne!(first, hits(&faults(1), 1));
    }

    #[test]
    fn a_lasting_rate_hits_the_same_articles_each_time() {
        let faults = Faults::seeded(1).with(Rule::new(Fault::Missing).at_rate(0.1).lasting());
        assert_eq!(hits(&faults, 0), hits(&faults, 5));
    }

    #[test]
    fn narrowings_combine_and_the_first_rule_decides() {
        let faults = Faults::none()
            .with(Rule::new(Fault::Refused).only(["a@x"]).first_asks(1).saying("423 no"))
            .with(Rule::new(Fault::Corrupt).only(["a@x", "b@x"]))
            .with(Fault::LoginRefused);
        let fault = |id, asked| faults.for_article(id, asked, 0).map(Rule::fault);
        assert_eq!(fault("a@x", 0), Some(Fault::Refused));
        assert_eq!(faults.for_article("a@x", 0, 0).unwrap().line(), "423 no");
        assert_eq!(fault("a@x", 1), Some(Fault::Corrupt));
        assert_eq!(fault("b@x", 0), Some(Fault::Corrupt));
        assert_eq!(fault("c@x", 0), None);
        let later = Faults::none().with(Rule::new(Fault::Silent).after(25));
        let strikes = |served| later.for_article("a@x", 0, served).is_some();
        assert_eq!((strikes(24), strikes(25)), (false, true));
        assert_eq!(faults.for_nth(Stage::Login, 9).map(Rule::fault), Some(Fault::LoginRefused));
    }
}
