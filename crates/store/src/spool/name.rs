//! The file names of a spool: a job number and a suffix.

use bergamot_types::JobId;

/// `00000007.nzb`
pub(crate) fn name(job: JobId, extension: &str) -> String {
    format!("{:08}.{extension}", job.0)
}

/// The job and the rest, where it is such a name.
pub(crate) fn parse(name: &str) -> Option<(JobId, &str)> {
    let (number, extension) = name.split_once('.')?;
    let id: u32 = number.parse().ok().filter(|id| *id <= MOST_ID)?;
    (format!("{id:08}") == number).then_some((JobId(id), extension))
}

/// The record of a job that is being removed. Its rename is what removes the job; the rest follows, at
/// once or at the next start.
pub(crate) const GONE: &str = "gone";
pub(crate) const JOURNAL: &str = "journal";
/// An empty file: the highest number that was ever given is at least this.
pub(crate) const LAST: &str = "last";
pub(crate) const NZB: &str = "nzb";
pub(crate) const RECORD: &str = "job";

/// Clients count with 31 bits; a foreign file must not use up the numbers that are left.
const MOST_ID: u32 = 2_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        for id in [0, 7, 99_999_999, 100_000_000, MOST_ID] {
            assert_eq!(parse(&name(JobId(id), RECORD)), Some((JobId(id), RECORD)));
        }
        assert_eq!(parse("00000007.job.damaged"), Some((JobId(7), "job.damaged")));
        for other in ["7.job", "+0000007.job", "lock", "00000007", "9999999999.job", ".job"] {
            assert_eq!(parse(other), None, "{other}");
        }
    }
}
