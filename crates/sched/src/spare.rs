//! [`Spare`]: how many bytes may be requested from two servers at once.

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

    /// Whether so many may be asked for a second time.
    pub fn allows(&self, bytes: u64) -> bool {
        self.doubled.saturating_add(bytes) <= self.fetched / SHARE
    }

    /// Bytes that were asked for a second time.
    pub fn on_doubled(&mut self, bytes: u64) {
        self.doubled = self.doubled.saturating_add(bytes);
    }
}

const SHARE: u64 = 50;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_byte_in_fifty_may_come_twice() {
        let mut spare = Spare::default();
        assert!(!spare.allows(1));
        spare.on_fetched(4_999);
        assert!(!spare.allows(100));
        spare.on_fetched(1);
        assert!(spare.allows(100));
        spare.on_doubled(60);
        assert!(spare.allows(40) && !spare.allows(41));
        spare.on_doubled(40);
        assert!(spare.allows(0) && !spare.allows(1));
    }
}
