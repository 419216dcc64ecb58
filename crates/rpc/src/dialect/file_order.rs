//! [`sort_files`]: orders the files of a job for the download: archives by name, recovery files last.

use std::cmp::Ordering;

use bergamot_api::request::{Edit, FileEdit};
use bergamot_api::view::File;
use bergamot_api::{Control, Refusal};
use bergamot_types::JobId;

use crate::call::fault::Fault;

/// Puts the files of a job into that order.
pub(crate) async fn sort_files<C: Control>(
    control: &C,
    job: JobId,
) -> Result<Result<(), Refusal>, Fault> {
    let mut listed = match control.files(Some(job)).await {
        Ok(listed) => listed,
        Err(refusal) => return Ok(Err(refusal)),
    };
    listed.sort_by(compare);
    let files = listed.iter().map(|file| file.index).collect();
    let mut done = control.edit(vec![job], Edit::Files { files, what: FileEdit::Reorder }).await?;
    Ok(done.pop().unwrap_or(Ok(())))
}

/// Data by name, the first volume of an archive before the others; then recovery files, each set by
/// itself and the small ones first.
fn compare(one: &File, other: &File) -> Ordering {
    let set = |file: &File| is_par2(&file.name).then(|| set_of(&file.name).to_owned());
    let by_set = set(one).cmp(&set(other));
    let by_size = || match is_par2(&one.name) && is_par2(&other.name) {
        true => one.size.cmp(&other.size),
        false => Ordering::Equal,
    };
    by_set.then_with(by_size).then_with(|| name_key(&one.name).cmp(name_key(&other.name)))
}

/// `a.rar` comes before `a.r00`.
fn name_key(name: &str) -> &str {
    match name.strip_suffix("ar") {
        Some(stem) if stem.ends_with(".r") => stem,
        _ => name,
    }
}

/// The name that all files of a set begin with.
fn set_of(name: &str) -> &str {
    let stem = name.get(..name.len().saturating_sub(PAR2.len())).unwrap_or(name);
    let volume = stem.to_ascii_lowercase().rfind(".vol");
    volume.and_then(|at| stem.get(..at)).unwrap_or(stem)
}

pub(crate) fn is_par2(name: &str) -> bool {
    name.to_ascii_lowercase().ends_with(PAR2)
}

pub(crate) fn is_par2_volume(name: &str) -> bool {
    is_par2(name) && name.to_ascii_lowercase().contains(".vol")
}

const PAR2: &str = ".par2";

#[cfg(test)]
mod tests {
    use super::*;
    use bergamot_api::view::FileState;

    fn file(name: &str, size: u64) -> File {
        File {
            id: 0,
            job: JobId(1),
            index: 0,
            name: name.to_owned(),
            name_confirmed: false,
            subject: String::new(),
            size,
            remaining: size,
            paused: false,
            posted: None,
            active: 0,
            state: FileState::Wanted,
        }
    }

    #[test]
    fn archives_come_in_their_order_and_recovery_files_last() {
        let sorted = [
            ("a.nfo", 1),
            ("a.rar", 9),
            ("a.r00", 9),
            ("a.r01", 9),
            ("a.sfv", 1),
            ("b.part1.rar", 9),
            ("b.part2.rar", 9),
            ("a.par2", 1),
            ("a.vol0+1.PAR2", 5),
            ("a.vol1+2.par2", 10),
            ("b.vol9+9.par2", 2),
            ("b.par2", 3),
        ];
        let mut files: Vec<_> = sorted.iter().rev().map(|(name, size)| file(name, *size)).collect();
        files.sort_by(compare);
        let names: Vec<_> = files.iter().map(|file| (file.name.as_str(), file.size)).collect();
        assert_eq!(names, sorted);
    }
}
