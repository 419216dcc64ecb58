//! Events that are published as they happen: methods of [`Observers`], in the main loop.

use bergamot_api::Event as News;
use bergamot_api::view::{Disk, JobState, Quota};
use bergamot_jobs::{Pauses, Record};
use bergamot_types::{JobId, ServerId};

use crate::download::network::Network;
use crate::views::observers::Observers;

impl Observers {
    pub(crate) fn publish_added(&self, record: &Record) {
        self.published.on_queue_changed();
        self.hub().publish(News::JobAdded {
            job: record.id,
            name: record.name.to_string(),
            category: record.category.as_deref().map(str::to_owned),
            size: record.contents.bytes.0,
        });
    }

    pub(crate) fn publish_state(&self, job: JobId, state: JobState, reason: Option<&str>) {
        self.published.on_queue_changed();
        let reason = reason.filter(|reason| !reason.is_empty()).map(str::to_owned);
        self.hub().publish(News::JobState { job, state, reason });
    }

    pub(crate) fn publish_changed(&self, job: JobId) {
        self.published.on_queue_changed();
        self.hub().publish(News::JobChanged { job });
    }

    pub(crate) fn publish_removed(&mut self, job: JobId) {
        self.published.on_queue_changed();
        self.published.forget(job);
        self.hub().publish(News::JobRemoved { job });
    }

    pub(crate) fn publish_server(&self, network: &Network, id: ServerId, trouble: Option<String>) {
        let (server, name) = (network.shown_id(id), network.name(id).to_owned());
        self.hub().publish(match trouble {
            Some(trouble) => News::ServerDown { server, name, trouble },
            None => News::ServerUp { server, name },
        });
    }

    /// The disk takes nothing, and why; or it works again.
    pub(crate) fn publish_disk(&mut self, path: String, trouble: Option<String>) {
        self.on_hold_changed();
        // How full it is, it may not say just now.
        self.hub().publish(News::Disk { disk: Disk { path, ..Disk::default() }, trouble });
    }

    pub(crate) fn publish_quotas(&mut self, quotas: Vec<Quota>) {
        self.on_hold_changed();
        quotas.into_iter().for_each(|quota| self.hub().publish(News::Quota(quota)));
    }

    pub(crate) fn publish_pauses(&self, pauses: &Pauses) {
        for (part, paused) in pauses.all() {
            self.hub().publish(News::Pause { part, paused: paused.map(Into::into) });
        }
    }
}
