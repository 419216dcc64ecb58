//! The page of `/metrics`, in the text formats of Prometheus and OpenMetrics.
//!
//! Values are gathered for each request, from state that exists anyway. Labels are names of the configuration or fixed
//! words, never names of jobs, so the page is bounded. Beside bergamot's own names it has those of the exporters for NZBGet
//! and SABnzbd, so that existing dashboards work.

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

/// Access to the page, and the sets of names it contains.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct MetricsSettings {
    pub access: MetricsAccess,
    pub compat: Vec<Compat>,
}

#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum MetricsAccess {
    /// Clients that may list the queue.
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
