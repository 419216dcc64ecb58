//! What `/metrics` tells, for Prometheus and whatever reads the same.
//!
//! All of it is gathered when somebody asks and not before, from what is known anyway. Labels are names
//! of the configuration or words of ours, never names of jobs, so an answer has a bound. Beside our own
//! names there are those of the exporters people have used so far, so that their dashboards go on.

mod native;
mod nzbget;
mod page;
mod sabnzbd;

pub use bergamot_api::metrics::{Arrivals, EndedJobs, Measured, PastSums, Process, QueueSums};

pub(crate) use native::Requests;
pub(crate) use page::{Flavour, Page};

/// Names of another program's exporter.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Compat {
    Nzbget,
    Sabnzbd,
}

/// Who may read them, and under which names they stand.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct MetricsSettings {
    pub access: MetricsAccess,
    pub compat: Vec<Compat>,
}

#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum MetricsAccess {
    /// Whoever may see the queue.
    #[default]
    Login,
    Off,
    Open,
}

impl Default for MetricsSettings {
    fn default() -> Self {
        Self { access: MetricsAccess::default(), compat: vec![Compat::Nzbget] }
    }
}

pub(crate) fn write(
    measured: &Measured,
    requests: &[Requests],
    compat: &[Compat],
    flavour: Flavour,
) -> Vec<u8> {
    let mut page = Page::new(flavour);
    native::write(&mut page, measured, requests);
    if compat.contains(&Compat::Nzbget) {
        nzbget::write(&mut page, measured);
    }
    if compat.contains(&Compat::Sabnzbd) {
        sabnzbd::write(&mut page, measured);
    }
    page.end()
}
