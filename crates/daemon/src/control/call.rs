//! What the control interfaces want of the daemon.

use std::fmt;

use bergamot_rpc::Refusal;
use tokio::sync::oneshot;

use crate::event::{Happening, Outbox};
use crate::run::Daemon;

/// Something to be done in the loop, where everything else stands still.
pub(crate) struct Question(Box<dyn FnOnce(&mut Daemon) + Send>);

impl Question {
    pub(crate) fn put(self, daemon: &mut Daemon) {
        (self.0)(daemon);
    }
}

impl fmt::Debug for Question {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Question")
    }
}

/// Comes true when what was changed is on disk.
pub(crate) type Promise = oneshot::Receiver<Result<(), String>>;
pub(crate) type Waiter = oneshot::Sender<Result<(), String>>;

pub(crate) async fn ask<T: Send + 'static>(
    outbox: &Outbox,
    question: impl FnOnce(&mut Daemon) -> T + Send + 'static,
) -> Result<T, Refusal> {
    let (sender, answer) = oneshot::channel();
    let question = move |daemon: &mut Daemon| {
        // Whoever asked may have left meanwhile.
        let _ = sender.send(question(daemon));
    };
    outbox.tell(Happening::Asked(Question(Box::new(question))));
    answer.await.map_err(|_| Refusal::Stopping)
}

pub(crate) async fn kept(promise: Promise) -> Result<(), Refusal> {
    match promise.await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(why)) => Err(Refusal::Unavailable(why)),
        Err(_) => Err(Refusal::Stopping),
    }
}
