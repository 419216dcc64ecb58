//! [`ShutdownSignal`]: tells the tasks of all connections that the server stops.

use tokio::sync::watch;

/// Cheap to clone; each waits for itself.
#[derive(Clone, Debug)]
pub(crate) struct ShutdownSignal(watch::Receiver<bool>);

impl ShutdownSignal {
    pub(crate) fn channel() -> (watch::Sender<bool>, Self) {
        let (sender, receiver) = watch::channel(false);
        (sender, Self(receiver))
    }

    /// Until the server stops. May be dropped while it waits.
    pub(crate) async fn wait(&mut self) {
        // A sender that is gone means the same.
        let _ = self.0.wait_for(|stopped| *stopped).await;
    }
}
