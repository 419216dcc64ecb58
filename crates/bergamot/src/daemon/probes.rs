//! Whether jobs that wait are there at all, as far as a sample tells.

use bergamot_engine::Census;
use bergamot_types::JobId;
use tracing::debug;

use super::core::Daemon;

impl Daemon {
    pub(super) fn on_probed(&mut self, job: JobId, census: Census) {
        debug!(%job, ?census, "probed");
    }
}
