//! [`DiskWork`]: the tasks that the writer's threads have been given, the open directories of jobs and what
//! is known of disk errors. Owned by the main loop.

use std::collections::HashMap;

use bergamot_engine::Ticket;
use bergamot_jobs::Record;
use bergamot_net::Buffer;
use bergamot_queue::FileKey;
use bergamot_types::JobId;
use bergamot_writer::Writer;

use crate::disk::disk_errors::DiskErrors;
use crate::download::open_job::{LoadedFiles, OpenJob, Summary};
use crate::download::part_checksums::Sums;
use crate::post::move_job::Move;
use crate::spool::retractions::Retractions;

pub(crate) struct DiskWork {
    pub(crate) writer: Writer<Buffer>,
    pub(crate) at_disk: HashMap<u64, AtDisk>,
    pub(crate) last_disk_order: u64,
    pub(crate) disk_errors: DiskErrors,
    pub(crate) sums: Sums,
    pub(crate) open_jobs: HashMap<JobId, OpenJob>,
    pub(crate) loaded: HashMap<JobId, LoadedFiles>,
    pub(crate) retractions: Retractions,
}

/// What the writer has been told to do.
#[derive(Debug)]
pub(crate) enum AtDisk {
    /// Of a job that is gone, with its record or without.
    DeleteFiles {
        record: Box<Record>,
        and_record: bool,
    },
    FinishFile {
        file: FileKey,
        read_back: bool,
    },
    Move(Move),
    Sync {
        job: JobId,
        number: u64,
    },
    Reserve(FileKey),
    Settle {
        job: JobId,
        summary: Option<Summary>,
    },
    Write {
        ticket: Ticket,
        file: FileKey,
    },
}

impl DiskWork {
    pub(crate) fn new(writer: Writer<Buffer>) -> Self {
        Self {
            writer,
            at_disk: HashMap::new(),
            last_disk_order: 0,
            disk_errors: DiskErrors::default(),
            sums: Sums::default(),
            open_jobs: HashMap::new(),
            loaded: HashMap::new(),
            retractions: Retractions::default(),
        }
    }
}
