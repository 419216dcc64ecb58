//! How much may be asked for twice.

/// Near the end a connection that has nothing to do may ask for what another one is slow to bring.
/// One of the two copies is for nothing, so all of them together stay below a fiftieth of what was
/// fetched.
#[derive(Clone, Copy, Debug, Default)]
pub struct Spare {
    fetched: u64,
    doubled: u64,
}

impl Spare {
    /// Bytes that were of use.
    pub fn on_fetched(&mut self, bytes: u64) {
        self.fetched = self.fetched.saturating_add(bytes);
    }

    /// Whether so many may be asked for a second time; if so, they count.
    pub fn take(&mut self, bytes: u64) -> bool {
        let after = self.doubled.saturating_add(bytes);
        let allowed = after <= self.fetched / SHARE;
        if allowed {
            self.doubled = after;
        }
        allowed
    }

    /// Bytes that were asked for a second time.
    pub fn doubled(&self) -> u64 {
        self.doubled
    }
}

const SHARE: u64 = 50;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_byte_in_fifty_may_come_twice() {
        let mut spare = Spare::default();
        assert!(!spare.take(1));
        spare.on_fetched(4_999);
        assert!(!spare.take(100));
        spare.on_fetched(1);
        assert!(spare.take(60));
        assert!(!spare.take(41));
        assert!(spare.take(40));
        assert_eq!(spare.doubled(), 100);
    }
}
