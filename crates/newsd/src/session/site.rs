//! [`Site`]: what all connections of one server share.

use std::sync::Arc;

use crate::faults::Faults;
use crate::faults::manners::Manners;
use crate::posts::articles::Articles;
use crate::session::tally::Tally;

/// One news server without its sockets: what it has, how it behaves, and what happened on it.
#[derive(Debug)]
pub struct Site {
    pub(crate) articles: Arc<dyn Articles>,
    pub(crate) manners: Manners,
    pub(crate) faults: Faults,
    pub(crate) tally: Tally,
}

impl Site {
    pub fn new(articles: Arc<dyn Articles>, manners: Manners, faults: Faults) -> Arc<Self> {
        Arc::new(Self { articles, manners, faults, tally: Tally::default() })
    }

    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// The header lines of an article, without the empty line behind them.
    pub(crate) fn headers(&self, id: &str) -> String {
        let subject = self.articles.subject(id).unwrap_or_default();
        format!(
            "Path: newsd!not-for-mail\r\n\
             From: newsd <poster@newsd.example>\r\n\
             Newsgroups: alt.binaries.test\r\n\
             Subject: {subject}\r\n\
             Date: Thu, 01 Jan 2026 00:00:00 GMT\r\n\
             Message-ID: <{id}>\r\n"
        )
    }
}
