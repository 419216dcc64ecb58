//! [`Counts`]: how often each method was called, for `/metrics`; shared by the tasks of all connections.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::call::registry::{Dialect, Entry, METHODS};
use crate::dialect::sabnzbd;
use crate::metrics::Requests;

/// A pair of numbers for each row of the tables, so that counting takes no lock.
#[derive(Debug)]
pub(crate) struct Counts {
    methods: Vec<Count>,
    modes: Vec<Count>,
}

#[derive(Debug, Default)]
struct Count {
    good: AtomicU64,
    failed: AtomicU64,
}

impl Default for Counts {
    fn default() -> Self {
        let zeros = |rows| std::iter::repeat_with(Count::default).take(rows).collect();
        Self { methods: zeros(METHODS.len()), modes: zeros(sabnzbd::mode_names().count()) }
    }
}

impl Counts {
    pub(crate) fn method(&self, entry: &Entry, is_good: bool) {
        self.methods[entry.method as usize].add(is_good);
    }

    /// By its row in the table of modes.
    pub(crate) fn mode(&self, row: usize, is_good: bool) {
        self.modes[row].add(is_good);
    }

    pub(crate) fn requests(&self) -> Vec<Requests> {
        let methods = METHODS.iter().zip(&self.methods).map(|(entry, count)| {
            let dialect = match entry.dialect() {
                Dialect::Native => "native",
                Dialect::Nzbget => "nzbget",
            };
            count.requests(dialect, entry.name)
        });
        let modes = sabnzbd::mode_names().zip(&self.modes);
        let modes = modes.map(|(mode, count)| count.requests("sabnzbd", mode));
        // Rows of one mode are reported as one.
        let mut all: Vec<Requests> = Vec::new();
        for requests in methods.chain(modes) {
            match all
                .last_mut()
                .filter(|last| (last.dialect, last.method) == (requests.dialect, requests.method))
            {
                Some(last) => {
                    last.good += requests.good;
                    last.failed += requests.failed;
                }
                None => all.push(requests),
            }
        }
        all
    }
}

impl Count {
    fn add(&self, is_good: bool) {
        let count = if is_good { &self.good } else { &self.failed };
        count.fetch_add(1, Ordering::Relaxed);
    }

    fn requests(&self, dialect: &'static str, method: &'static str) -> Requests {
        let (good, failed) =
            (self.good.load(Ordering::Relaxed), self.failed.load(Ordering::Relaxed));
        Requests { dialect, method, good, failed }
    }
}
