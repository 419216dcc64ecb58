//! The names of unfinished files in a job's directory, such as `0007.part`. Pure.

use std::ffi::{OsStr, OsString};

use bergamot_types::SafeName;

pub(super) fn part_name(index: u32) -> OsString {
    OsString::from(format!("{index:04}{UNFINISHED}"))
}

pub(super) fn part_index(name: &OsStr) -> Option<u32> {
    let index = name.to_str()?.strip_suffix(UNFINISHED)?.parse().ok()?;
    (part_name(index) == name).then_some(index)
}

/// Also of names that are ours only to a file system that ignores case.
pub(super) fn is_working_name(name: &OsStr) -> bool {
    let Some(name) = name.to_str().map(str::to_ascii_lowercase) else { return false };
    let stem = name.strip_suffix(JOINING).or_else(|| name.strip_suffix(UNFINISHED));
    stem.is_some_and(|stem| !stem.is_empty() && stem.bytes().all(|b| b.is_ascii_digit()))
}

/// A file of the NZB may well be called `0007.part`.
pub(super) fn unlike_working_names(wanted: &SafeName) -> SafeName {
    if is_working_name(OsStr::new(wanted.as_str())) {
        SafeName::from_raw(&format!("_{wanted}"))
    } else {
        wanted.clone()
    }
}

pub(super) const UNFINISHED: &str = ".part";
pub(super) const JOINING: &str = ".join.part";
