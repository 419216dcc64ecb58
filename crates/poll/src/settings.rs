//! How much may be done at once.

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Settings {
    /// The most that one call of `take_due` gives.
    pub burst: usize,
    /// The most of one kind that run at once, unless that kind has a number of its own.
    pub concurrency: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self { burst: 2, concurrency: 4 }
    }
}
