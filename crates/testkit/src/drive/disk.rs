//! [`Disk`]: what carries out the orders of files and records. Single-threaded.

use bergamot_engine::{Event, Note, Now, QuotaRecords, Ticket};
use bergamot_queue::{FileKey, Layout};
use bergamot_types::JobId;

use super::Context;

/// A disk that does everything at once, unless a method is replaced.
pub trait Disk<B> {
    fn write(
        &mut self,
        cx: &mut Context<'_>,
        ticket: Ticket,
        _file: FileKey,
        _offset: u64,
        _body: Option<B>,
    ) {
        cx.answer(Event::Written { ticket, result: Ok(()) });
    }

    fn finish_file(&mut self, cx: &mut Context<'_>, file: FileKey, _layout: Layout) {
        cx.answer(Event::FileFinished { file, result: Ok(()) });
    }

    fn process_job(&mut self, cx: &mut Context<'_>, job: JobId, _verified: bool) {
        cx.answer(Event::JobProcessed { job, result: Ok(()) });
    }

    fn persist(&mut self, cx: &mut Context<'_>, number: u64, _records: QuotaRecords) {
        cx.answer(Event::Persisted { number, result: Ok(()) });
    }

    /// Nothing more is to be done with a job that was to be processed.
    fn forget_job(&mut self, _: Now, _: JobId) {}

    fn note(&mut self, _: &mut Context<'_>, _: Note) {}
    fn reserve(&mut self, _: &mut Context<'_>, _: FileKey, _: u64) {}
}
