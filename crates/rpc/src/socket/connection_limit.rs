//! [`ConnectionLimit`]: the open connections of one listener, shared by their tasks; [`Admission`] decides which of
//! them are closed when slots run short.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use crate::socket::admission::{Admission, Rules};

#[derive(Debug)]
pub(crate) struct ConnectionLimit(Mutex<List>);

#[derive(Debug)]
struct List {
    admission: Admission,
    /// Dropped when the connection has to be closed.
    leave: HashMap<u64, oneshot::Sender<()>>,
}

/// The slot of one connection, until it is dropped.
#[derive(Debug)]
pub(crate) struct Slot {
    limit: Arc<ConnectionLimit>,
    number: u64,
}

impl ConnectionLimit {
    pub(crate) fn new(rules: Rules) -> Arc<Self> {
        let list = List { admission: Admission::new(rules), leave: HashMap::new() };
        Arc::new(Self(Mutex::new(list)))
    }

    /// A slot, and a receiver that ends when the connection is evicted; none if there is no room.
    pub(crate) fn admit(
        self: &Arc<Self>,
        source: Option<IpAddr>,
    ) -> Option<(Slot, oneshot::Receiver<()>)> {
        let mut list = self.list();
        let admit = list.admission.connect(source)?;
        if let Some(evicted) = admit.evicted {
            list.leave.remove(&evicted);
        }
        let (leave, must_leave) = oneshot::channel();
        list.leave.insert(admit.number, leave);
        Some((Slot { limit: self.clone(), number: admit.number }, must_leave))
    }

    fn list(&self) -> MutexGuard<'_, List> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Slot {
    /// See [`Admission::on_body`].
    pub(crate) fn on_body(&self, is_authenticated: bool) -> bool {
        self.limit.list().admission.on_body(self.number, is_authenticated)
    }

    /// See [`Admission::on_progress`].
    pub(crate) fn on_progress(&self) {
        self.limit.list().admission.on_progress(self.number);
    }

    /// See [`Admission::on_call`].
    pub(crate) fn on_call(&self) -> bool {
        self.limit.list().admission.on_call(self.number)
    }

    /// See [`Admission::on_health_check`].
    pub(crate) fn on_health_check(&self) {
        self.limit.list().admission.on_health_check(self.number);
    }

    /// See [`Admission::on_wait`].
    pub(crate) fn on_wait(&self) -> bool {
        self.limit.list().admission.on_wait(self.number)
    }

    /// See [`Admission::on_waited`].
    pub(crate) fn on_waited(&self) -> bool {
        self.limit.list().admission.on_waited(self.number)
    }

    pub(crate) fn on_answered(&self) {
        self.limit.list().admission.on_answered(self.number);
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut list = self.limit.list();
        list.admission.disconnect(self.number);
        list.leave.remove(&self.number);
    }
}
