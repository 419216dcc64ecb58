//! [`UnixTime`]: calendar time in seconds since 1970.

/// Seconds since 1970 in UTC.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct UnixTime(pub i64);

impl UnixTime {
    /// Whole days from `earlier` to `self`; none if `earlier` lies ahead.
    pub fn days_since(self, earlier: UnixTime) -> u64 {
        u64::try_from(self.0.saturating_sub(earlier.0)).map_or(0, |seconds| seconds / SECONDS_A_DAY)
    }
}

const SECONDS_A_DAY: u64 = 86_400;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_whole_and_never_negative() {
        assert_eq!(UnixTime(86_400 * 3 - 1).days_since(UnixTime(0)), 2);
        assert_eq!(UnixTime(0).days_since(UnixTime(1)), 0);
        assert_eq!(UnixTime(i64::MAX).days_since(UnixTime(i64::MIN)), i64::MAX as u64 / 86_400);
    }
}
