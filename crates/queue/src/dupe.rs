//! [`DupeMode`]: how a job is compared with others of the same duplicate key. Pure.

/// How jobs with one dupe key get along.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize, serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum DupeMode {
    /// The best of those with one key is wanted.
    #[default]
    Score,
    /// All of them are.
    All,
    /// This one is, and is not compared with others.
    Force,
}
