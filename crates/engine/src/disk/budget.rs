//! [`Budget`]: the memory that is reserved for articles, and its bound. Pure.

/// Reservations for whole decoded articles: without one no socket is read for it, so nothing stops
/// half-way for want of memory, and the bound is exact.
#[derive(Debug)]
pub(crate) struct Budget {
    total: u64,
    used: u64,
}

impl Budget {
    pub(crate) fn new(total: u64) -> Self {
        Self { total, used: 0 }
    }

    /// What is reserved stays so.
    pub(crate) fn set_total(&mut self, total: u64) {
        self.total = total;
    }

    /// An article larger than the whole budget may still come, alone.
    pub(crate) fn fits(&self, bytes: u64) -> bool {
        self.used == 0 || self.used + bytes <= self.total
    }

    pub(crate) fn reserve(&mut self, bytes: u64) -> bool {
        let fits = self.fits(bytes);
        self.used += if fits { bytes } else { 0 };
        fits
    }

    pub(crate) fn release(&mut self, bytes: u64) {
        debug_assert!(bytes <= self.used, "released what was reserved");
        self.used = self.used.saturating_sub(bytes);
    }

    pub(crate) fn used(&self) -> u64 {
        self.used
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reservations_stay_within_the_total_except_for_a_giant_alone() {
        let mut budget = Budget::new(100);
        assert!(budget.reserve(60) && budget.reserve(40));
        assert!(!budget.reserve(1));
        budget.release(60);
        budget.release(40);
        assert!(budget.reserve(500));
        assert!(!budget.reserve(1));
    }
}
