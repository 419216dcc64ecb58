//! What the machine of all jobs ([`Jobs`](bergamot_jobs::Jobs)) has done beside the main loop: NZBs are read for
//! merges, splits and probes.

pub(crate) mod merge_split;
pub(crate) mod probes;
