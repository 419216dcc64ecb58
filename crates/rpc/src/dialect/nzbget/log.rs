//! `log`, `loadlog`, `writelog` and `clearlog`: lines of the log.

use bergamot_api::request::{Lines, LogQuery};
use bergamot_api::view::{LogKind, LogLine};
use bergamot_api::{Control, Refusal};
use bergamot_types::JobId;
use serde::{Serialize, Serializer};

use crate::call::Call;
use crate::call::bounds;
use crate::call::fault::Fault;
use crate::codec::reply::Reply;
use crate::dialect::nzbget::arguments::Arguments;
use crate::dialect::nzbget::fields::{Fields, narrow, seconds};
use crate::dialect::nzbget::job_fields::each;

struct Line<'a>(&'a LogLine);

impl Serialize for Line<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let line = self.0;
        let mut fields = Fields::of(to);
        fields
            .put("ID", narrow(line.id))
            .put("Kind", kind_name(line.kind))
            .put("Time", seconds(Some(line.at)))
            .put("Text", &line.text);
        fields.end()
    }
}

pub(crate) async fn log<C: Control>(mut call: Call<'_, C>) -> Result<Reply, Fault> {
    let lines = lines(&mut call.arguments()?)?;
    let lines = call.control.log(LogQuery { job: None, lines }).await?;
    call.answer(&each(&lines, Line))
}

pub(crate) async fn load_log<C: Control>(mut call: Call<'_, C>) -> Result<Reply, Fault> {
    let mut arguments = call.arguments()?;
    let job = u32::try_from(arguments.integer("NZBID")?);
    let job = JobId(job.map_err(|_| Fault::parameter("NZBID is not an id"))?);
    let lines = lines(&mut arguments)?;
    let lines = call.control.log(LogQuery { job: Some(job), lines }).await?;
    call.answer(&each(&lines, Line))
}

/// Either from a number on or the last so many; not both.
fn lines(arguments: &mut Arguments<'_>) -> Result<Lines, Fault> {
    let from = arguments.integer_or("IDFrom", 0)?;
    let count = arguments.integer_or("NumberOfEntries", 0)?;
    match (u64::try_from(from), usize::try_from(count)) {
        (Ok(0), Ok(count)) => Ok(Lines::Last(count)),
        (Ok(id), Ok(0)) => Ok(Lines::From { id, most: MOST_LINES }),
        _ => Err(Fault::parameter("give IDFrom or NumberOfEntries, and 0 for the other")),
    }
}

pub(crate) async fn write_log<C: Control>(mut call: Call<'_, C>) -> Result<Reply, Fault> {
    let mut arguments = call.arguments()?;
    let name = arguments.text("Kind")?;
    let text = bounds::log_text(&arguments.text("Text")?);
    let kind = KINDS.into_iter().find(|kind| kind_name(*kind).eq_ignore_ascii_case(&name));
    let kind =
        kind.ok_or_else(|| Refusal::Impossible("there is no such kind of line".to_owned()))?;
    call.control.write_log(kind, text).await?;
    call.done()
}

pub(crate) async fn clear_log<C: Control>(call: Call<'_, C>) -> Result<Reply, Fault> {
    call.control.clear_log().await?;
    call.done()
}

fn kind_name(kind: LogKind) -> &'static str {
    match kind {
        LogKind::Debug => "DEBUG",
        LogKind::Detail => "DETAIL",
        LogKind::Info => "INFO",
        LogKind::Warning => "WARNING",
        LogKind::Error => "ERROR",
    }
}

const KINDS: [LogKind; 5] =
    [LogKind::Debug, LogKind::Detail, LogKind::Info, LogKind::Warning, LogKind::Error];
/// As many lines as are kept in any log of ours.
const MOST_LINES: usize = 10_000;
