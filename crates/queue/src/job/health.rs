//! [`Sizes`]: the bytes of a job that are there, lost and repairable; [`Permille`]: its health. Pure.
//!
//! The measures are those of NZBGet, so that users and programs that know its numbers can go on
//! using them: health is the share of the data that is not lost, critical health the least share
//! from which the recovery files that are left could make up the rest.

use std::fmt;

/// Thousandths: 1000 is all of it.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Permille(pub u16);

impl Permille {
    pub const ALL: Self = Self(1000);

    /// `part` is no more than `whole`, which is not 0.
    fn of(part: u64, whole: u64) -> Self {
        let share = u128::from(part) * 1000 / u128::from(whole);
        Self(u16::try_from(share).map_or(Self::ALL.0, |share| share.min(Self::ALL.0)))
    }
}

impl fmt::Display for Permille {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{} %", self.0 / 10, self.0 % 10)
    }
}

/// Bytes of a job as its NZB claims them.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Sizes {
    /// Of all files, PAR2 or not, wanted or not.
    pub all: u64,
    pub par2: u64,
    /// Of all articles that are lost, or damaged beyond retries.
    pub failed: u64,
    pub failed_par2: u64,
}

impl Sizes {
    pub(crate) fn add_file(&mut self, bytes: u64, is_par2: bool) {
        self.all = self.all.saturating_add(bytes);
        self.par2 = self.par2.saturating_add(if is_par2 { bytes } else { 0 });
    }

    pub(crate) fn take_file(&mut self, bytes: u64, is_par2: bool) {
        self.all = self.all.saturating_sub(bytes);
        self.par2 = self.par2.saturating_sub(if is_par2 { bytes } else { 0 });
    }

    pub(crate) fn add_failed(&mut self, bytes: u64, is_par2: bool) {
        self.failed = self.failed.saturating_add(bytes);
        self.failed_par2 = self.failed_par2.saturating_add(if is_par2 { bytes } else { 0 });
    }

    /// What had failed is wanted again.
    pub(crate) fn take_failed(&mut self, bytes: u64, is_par2: bool) {
        self.failed = self.failed.saturating_sub(bytes);
        self.failed_par2 = self.failed_par2.saturating_sub(if is_par2 { bytes } else { 0 });
    }

    /// How much of the data, recovery files aside, is there or may still come. Lost data is never
    /// rounded away.
    pub fn health(&self) -> Permille {
        let data = self.all.saturating_sub(self.par2);
        let failed = self.failed.saturating_sub(self.failed_par2).min(data);
        if failed == 0 {
            return Permille::ALL;
        }
        Permille::of(data - failed, data).min(ALMOST_ALL)
    }

    /// Below this nothing can repair the job: a recovery file makes up for as many bytes as it has.
    pub fn critical_health(&self) -> Permille {
        match self.exact_critical_health() {
            Permille::ALL => ESTIMATE,
            exact => exact,
        }
    }

    /// The same, without the doubt whether recovery files are there under other names.
    pub fn exact_critical_health(&self) -> Permille {
        if self.par2 == 0 {
            return Permille::ALL;
        }
        if self.all == self.par2 {
            return Permille(0);
        }
        let recovery = self.par2.saturating_sub(self.failed_par2);
        let data = self.all.saturating_sub(recovery);
        Permille::of(data.saturating_sub(recovery), data).min(ALMOST_ALL)
    }
}

/// What is lost never counts as nothing, and where there are recovery files they count for something.
const ALMOST_ALL: Permille = Permille(999);

/// Where no file is called PAR2, some may still be under another name; hardly any post has more of
/// them than this leaves room for.
const ESTIMATE: Permille = Permille(850);

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(all: u64, par2: u64, failed: u64, failed_par2: u64) -> Sizes {
        Sizes { all, par2, failed, failed_par2 }
    }

    #[test]
    fn health_is_the_share_of_data_that_is_not_lost() {
        for (sizes, health) in [
            (sizes(0, 0, 0, 0), 1000),
            (sizes(1000, 0, 0, 0), 1000),
            (sizes(1000, 0, 1, 0), 999),
            (sizes(1000, 0, 150, 0), 850),
            (sizes(1000, 0, 1000, 0), 0),
            (sizes(1_000_000, 0, 1, 0), 999),
            (sizes(1_000_000, 0, 999_999, 0), 0),
            (sizes(1000, 200, 80, 0), 900),
            (sizes(1000, 200, 80, 80), 1000),
            (sizes(1000, 200, 240, 160), 900),
            (sizes(1000, 1000, 500, 500), 1000),
            (sizes(u64::MAX, 0, u64::MAX / 2, 0), 500),
            (sizes(u64::MAX, u64::MAX, u64::MAX, u64::MAX), 1000),
        ] {
            assert_eq!(sizes.health(), Permille(health), "{sizes:?}");
        }
    }

    #[test]
    fn critical_health_is_what_the_recovery_files_that_are_left_could_make_up_for() {
        for (sizes, critical) in [
            (sizes(0, 0, 0, 0), 850),
            (sizes(1000, 0, 0, 0), 850),
            (sizes(1000, 0, 1000, 0), 850),
            (sizes(1100, 100, 0, 0), 900),
            (sizes(1100, 100, 500, 0), 900),
            (sizes(1100, 100, 50, 50), 952),
            (sizes(1100, 100, 100, 100), 999),
            (sizes(1_000_001, 1, 0, 0), 999),
            (sizes(1000, 500, 0, 0), 0),
            (sizes(1000, 800, 0, 0), 0),
            (sizes(1000, 1000, 0, 0), 0),
            (sizes(1000, 1000, 1000, 1000), 0),
            (sizes(u64::MAX, u64::MAX / 4, 0, 0), 666),
            (sizes(u64::MAX, u64::MAX, 0, 0), 0),
        ] {
            assert_eq!(sizes.critical_health(), Permille(critical), "{sizes:?}");
            let exact = if critical == 850 { 1000 } else { critical };
            assert_eq!(sizes.exact_critical_health(), Permille(exact), "{sizes:?}");
        }
    }

    #[test]
    fn lost_recovery_files_alone_never_make_a_job_unhealthy() {
        for failed in [0, 1, 50, 100] {
            let sizes = sizes(1100, 100, failed, failed);
            assert!(sizes.health() >= sizes.critical_health(), "{failed}");
        }
    }

    #[test]
    fn what_is_wanted_again_has_not_failed() {
        let mut sizes = Sizes::default();
        sizes.add_file(1000, false);
        sizes.add_file(100, true);
        sizes.add_failed(10, false);
        sizes.add_failed(20, true);
        assert_eq!(sizes, super::tests::sizes(1100, 100, 30, 20));
        sizes.take_failed(10, false);
        sizes.take_failed(20, true);
        assert_eq!(sizes, super::tests::sizes(1100, 100, 0, 0));
        sizes.take_failed(1, true);
        assert_eq!((sizes.failed, sizes.failed_par2), (0, 0));
    }

    #[test]
    fn thousandths_are_shown_as_people_write_them() {
        let shown: Vec<_> = [0, 5, 850, 1000].map(|share| Permille(share).to_string()).into();
        assert_eq!(shown, ["0.0 %", "0.5 %", "85.0 %", "100.0 %"]);
    }
}
