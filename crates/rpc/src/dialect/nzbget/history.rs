//! `history`: jobs that ended, with NZBGet's field names.

use bergamot_api::Control;
use bergamot_api::metrics::Ending;
use bergamot_api::request::{JobFilter, ListKind};
use bergamot_api::view::Job;
use serde::{Serialize, Serializer};

use crate::call::Call;
use crate::call::fault::Fault;
use crate::codec::reply::Reply;
use crate::dialect::nzbget::fields::{Fields, narrow, seconds, size};
use crate::dialect::nzbget::job_fields::{self, dupe_mode};
use crate::dialect::nzbget::outcome::Outcome;

struct Past<'a>(&'a Job);

impl Past<'_> {
    fn ended_at(&self) -> i32 {
        seconds(self.0.ended.as_ref().map(|ended| ended.at))
    }

    fn is_hidden(&self) -> bool {
        self.0.ended.as_ref().is_some_and(|ended| ended.hidden)
    }

    /// The fields of a hidden job.
    fn serialize_hidden<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let job = self.0;
        let outcome = Outcome::of(job);
        let mut fields = Fields::of(to);
        fields
            .put("ID", job.id.0)
            .put("NZBID", job.id.0)
            .put("Kind", "DUP")
            .put("Name", &job.name)
            .put("NZBName", &job.name)
            .put("HistoryTime", self.ended_at())
            .put_size(size!("FileSize"), job.size)
            .put("DupeKey", &job.dupe_key)
            .put("DupeScore", job.dupe_score)
            .put("DupeMode", dupe_mode(job.dupe_mode))
            .put("DupStatus", outcome.hidden_status().0)
            .put("Status", outcome.hidden_status().1);
        fields.end()
    }
}

impl Serialize for Past<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        if self.is_hidden() {
            return self.serialize_hidden(to);
        }
        let job = self.0;
        let outcome = Outcome::of(job);
        let mut fields = Fields::of(to);
        fields
            .put("ID", job.id.0)
            .put("Name", &job.name)
            .put("RemainingFileCount", narrow(job.remaining_files))
            .put("RetryData", job.ended.as_ref().is_some_and(|ended| ended.can_retry))
            .put("HistoryTime", self.ended_at())
            .put("Status", outcome.status(&Ending::of(job)))
            .put("Log", [(); 0]);
        job_fields::put(&mut fields, job, &outcome);
        fields.end()
    }
}

pub(crate) async fn history<C: Control>(mut call: Call<'_, C>) -> Result<Reply, Fault> {
    let hidden = call.arguments()?.bool_or("Hidden", false)?;
    let which = JobFilter { hidden, ..JobFilter::default() };
    call.answer_jobs(
        ListKind::History,
        which,
        |_| true,
        |format, text, job| {
            format.append(text, &Past(job));
        },
    )
    .await
}
