//! [`Census`]: the data and recovery volumes of a job, and whether those suffice. Pure.

use bergamot_types::SplitMix;

use crate::sim::day::Day;

/// Lets some of the last files of each job be volumes. By a chance of its own, so that a day is like it
/// would be without them.
pub(crate) fn draw(day: &mut Day) {
    let mut chance = SplitMix::seeded(day.seed.number().rotate_left(53) ^ STREAM);
    if chance.up_to(7) > 0 {
        return;
    }
    for job in &mut day.jobs {
        let files = job.files.len() as u64;
        job.volumes = chance.up_to((files - 1).min(MOST_VOLUMES)) as u32;
    }
}

/// The articles of a job, which all have the same size.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Census {
    pub(crate) data: u64,
    pub(crate) lost_data: u64,
    pub(crate) recovery: u64,
    pub(crate) lost_recovery: u64,
}

impl Census {
    /// As NZBGet has it: the share of the data that is left is below the least from which the volumes
    /// that are left could make up the rest; in whole thousandths, in favour of the job. Where nothing
    /// is called a volume, some may be there under other names.
    pub(crate) fn is_beyond_repair(&self) -> bool {
        if self.lost_data == 0 {
            return false;
        }
        let health = ((self.data - self.lost_data) * 1000 / self.data).min(999);
        let left = self.recovery - self.lost_recovery;
        let rest = self.data + self.lost_recovery;
        let critical = match self.recovery {
            0 => 850,
            _ => (rest.saturating_sub(left) * 1000 / rest).min(999),
        };
        health < critical
    }
}

const MOST_VOLUMES: u64 = 4;

const STREAM: u64 = 0x9a2e_c0fe;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn volumes_make_up_for_as_much_as_they_are() {
        for (data, lost_data, recovery, lost_recovery, is_beyond) in [
            (100, 0, 0, 0, false),
            (100, 15, 0, 0, false), // of which nobody knows whether there are volumes
            (100, 16, 0, 0, true),
            (100, 10, 10, 0, false),
            (100, 11, 10, 0, true),
            (100, 10, 10, 5, true),
            (100, 0, 10, 10, false),
            (100, 1, 10, 10, true),
        ] {
            let census = Census { data, lost_data, recovery, lost_recovery };
            assert_eq!(census.is_beyond_repair(), is_beyond, "{census:?}");
        }
    }
}
