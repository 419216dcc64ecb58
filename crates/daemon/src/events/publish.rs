//! What watchers are told as it happens.

use bergamot_api::Event as News;
use bergamot_api::view::Disk;
use bergamot_queue::Ending;
use bergamot_types::{JobId, ServerId};

use crate::clock;
use crate::run::Daemon;

impl Daemon {
    pub(crate) fn tell_added(&self, job: JobId) {
        self.observers.published.on_queue_changed();
        let Some(record) = self.jobs.list().record(job) else { return };
        self.observers.hub.publish(News::JobAdded {
            job,
            name: record.name.to_string(),
            category: record.category.as_deref().map(str::to_owned),
            size: record.contents.bytes.0,
        });
    }

    pub(crate) fn tell_state(&self, job: JobId) {
        self.observers.published.on_queue_changed();
        let Some(record) = self.jobs.list().record(job) else { return };
        if matches!(record.ending(), Some(Ending::Completed { .. })) {
            self.keep_rss();
        }
        let reason = record.reason().filter(|reason| !reason.is_empty()).map(str::to_owned);
        self.observers.hub.publish(News::JobState { job, state: self.state_of(record), reason });
    }

    pub(crate) fn tell_changed(&self, job: JobId) {
        self.observers.published.on_queue_changed();
        self.observers.hub.publish(News::JobChanged { job });
    }

    pub(crate) fn tell_removed(&mut self, job: JobId) {
        self.observers.published.on_queue_changed();
        self.observers.published.forget(job);
        self.forget_probe(job);
        self.observers.hub.publish(News::JobRemoved { job });
    }

    pub(crate) fn tell_server(&self, id: ServerId, trouble: Option<String>) {
        let (server, name) = (self.shown_id(id), self.name(id).to_owned());
        self.observers.hub.publish(match trouble {
            Some(trouble) => News::ServerDown { server, name, trouble },
            None => News::ServerUp { server, name },
        });
    }

    /// It takes nothing, and why; or it works again.
    pub(crate) fn tell_disk(&mut self, trouble: Option<String>) {
        self.observers.held_since = clock::now().date;
        let path = self.jobs.settings().directories.incomplete.to_string_lossy().into_owned();
        // How full it is, it may not say just now.
        self.observers.hub.publish(News::Disk { disk: Disk { path, ..Disk::default() }, trouble });
    }

    pub(crate) fn tell_quotas(&mut self) {
        self.observers.held_since = clock::now().date;
        self.quota_views()
            .into_iter()
            .for_each(|quota| self.observers.hub.publish(News::Quota(quota)));
    }

    pub(crate) fn tell_pauses(&self) {
        for (part, paused) in self.jobs.pauses().all() {
            self.observers.hub.publish(News::Pause { part, paused: paused.map(Into::into) });
        }
    }
}
