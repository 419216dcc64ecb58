//! [`Identity`]: the user and group of the daemon in a container that was started as root, from `PUID` and
//! `PGID`.
//!
//! It is applied on the main thread before a second thread starts, so it holds for the whole process.
//! [`Owner`] gives files that root has made to the user of their directory.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use anyhow::{Context, anyhow};
use rustix::fs::{Access, Gid, Mode, Uid, access};
use rustix::io::Errno;
use rustix::process::{getegid, geteuid, umask};
use rustix::thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid};

use crate::Storage;

/// What the variables of a container ask for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Identity {
    user: Option<u32>,
    group: Option<u32>,
    umask: Option<u32>,
}

impl Identity {
    pub fn read(variable: impl Fn(&str) -> Option<OsString>) -> anyhow::Result<Self> {
        let number = |name: &str, radix, most| match variable(name) {
            None => Ok(None),
            Some(text) if text.is_empty() => Ok(None),
            Some(text) => text
                .to_str()
                .and_then(|text| u32::from_str_radix(text.trim(), radix).ok())
                .filter(|number| *number <= most)
                .map(Some)
                .ok_or_else(|| anyhow!("{name} is {text:?}, which is no such number")),
        };
        Ok(Self {
            user: number("PUID", 10, MOST_ID)?,
            group: number("PGID", 10, MOST_ID)?,
            umask: number("UMASK", 8, 0o777)?,
        })
    }

    /// Changes to that user if the process runs as root. Otherwise nothing changes, and a sentence that says
    /// so is returned.
    pub fn assume(self, directories: &[&Path]) -> anyhow::Result<Option<String>> {
        if let Some(mask) = self.umask {
            umask(Mode::from_raw_mode(mask));
        }
        if !geteuid().is_root() {
            return Ok(self.remark(geteuid().as_raw(), getegid().as_raw()));
        }
        let (user, group) = self.wanted();
        if user == 0 && group == 0 {
            return Ok(None);
        }
        for directory in directories {
            hand_over(directory, user, group);
        }
        let (user, group) = (Uid::from_raw(user), Gid::from_raw(group));
        let become_it = || {
            set_thread_groups(&[])?;
            set_thread_res_gid(Some(group), Some(group), Some(group))?;
            set_thread_res_uid(Some(user), Some(user), Some(user))
        };
        become_it().with_context(|| {
            let (user, group) = (user.as_raw(), group.as_raw());
            format!(
                "cannot become user {user} and group {group} (PUID, PGID); a container without \
                 those rights has to be started with --user {user}:{group}"
            )
        })?;
        Ok(None)
    }

    /// Root has a group of its own, as everywhere.
    fn wanted(self) -> (u32, u32) {
        let user = self.user.unwrap_or(USUAL_ID);
        (user, self.group.unwrap_or(if user == 0 { 0 } else { USUAL_ID }))
    }

    fn remark(self, user: u32, group: u32) -> Option<String> {
        let is_other = |wanted: Option<u32>, is| wanted.is_some_and(|wanted| wanted != is);
        (is_other(self.user, user) || is_other(self.group, group)).then(|| {
            format!(
                "PUID and PGID change nothing, for this runs as user {user} and group {group} \
                 already"
            )
        })
    }
}

/// The owner of a directory, and so of what is made there.
#[derive(Clone, Copy, Debug)]
pub struct Owner {
    user: Uid,
    group: Gid,
}

impl Owner {
    /// Of the directory, or of the nearest above it where it is still to be made.
    pub fn of(directory: &Path) -> anyhow::Result<Self> {
        let there = directory.ancestors().find_map(|above| std::fs::metadata(above).ok());
        let there = there.with_context(|| format!("nothing is at {}", directory.display()))?;
        Ok(Self { user: Uid::from_raw(there.uid()), group: Gid::from_raw(there.gid()) })
    }

    /// Gives it a file that root has made.
    pub fn receive(self, file: &File) -> anyhow::Result<()> {
        if !geteuid().is_root() {
            return Ok(());
        }
        let user = self.user.as_raw();
        rustix::fs::fchown(file, Some(self.user), Some(self.group))
            .with_context(|| format!("it cannot be given to user {user}"))
    }

    /// As at the start of a container.
    pub fn take_if_empty(self, directory: &Path) {
        if geteuid().is_root() {
            hand_over(directory, self.user.as_raw(), self.group.as_raw());
        }
    }

    /// Runs `work` with the file-system rights of that user if this process is root, and restores those of
    /// root afterwards.
    pub fn act<T>(self, work: impl FnOnce() -> T) -> anyhow::Result<T> {
        if !geteuid().is_root() {
            return Ok(work());
        }
        let become_it = |user, group| {
            // Only root may change its group.
            set_thread_res_uid(None, Some(Uid::ROOT), None)?;
            set_thread_res_gid(None, Some(group), None)?;
            set_thread_res_uid(None, Some(user), None)
        };
        let user = self.user.as_raw();
        become_it(self.user, self.group).with_context(|| format!("cannot act as user {user}"))?;
        let done = work();
        become_it(Uid::ROOT, Gid::ROOT).context("cannot become root again")?;
        Ok(done)
    }
}

/// Changes to the user that the daemon of this container runs as, without changing any file, for commands
/// that root runs in the container. Returns the same as [`Identity::assume`].
pub fn become_daemon_user() -> anyhow::Result<Option<String>> {
    match is_in_container() {
        true => Identity::read(variable)?.assume(&[]),
        false => Ok(None),
    }
}

/// The user that the daemon of this container runs as; `None` if this process is not root.
pub fn daemon_of_container() -> anyhow::Result<Option<Owner>> {
    if !geteuid().is_root() || !is_in_container() {
        return Ok(None);
    }
    let (user, group) = Identity::read(variable)?.wanted();
    Ok(Some(Owner { user: Uid::from_raw(user), group: Gid::from_raw(group) }))
}

fn is_in_container() -> bool {
    [CONTAINER_VARIABLE, "PUID", "PGID"].into_iter().any(|name| variable(name).is_some())
}

fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// Which of these directories this user may not use or create, each with its owner and what to do. A parent
/// of several of them is reported once.
pub fn foreign(paths: &[&Path]) -> Vec<String> {
    let mut told = BTreeMap::new();
    for path in paths {
        let there = path.ancestors().find(|above| above.exists());
        if let Some((there, why)) = there.and_then(|there| Some((there, objection(path, there)?))) {
            told.entry(there).or_insert(why);
        }
    }
    told.into_values().collect()
}

/// `there` is the path, or the nearest above it where it is still to be made.
fn objection(path: &Path, there: &Path) -> Option<String> {
    let metadata = there.metadata().ok()?;
    let wanted = match metadata.is_dir() {
        true => Access::WRITE_OK | Access::EXEC_OK,
        false => Access::READ_OK,
    };
    if access(there, wanted) != Err(Errno::ACCESS) {
        return None;
    }
    let (user, group) = (geteuid().as_raw(), getegid().as_raw());
    let (owner, of_group) = (metadata.uid(), metadata.gid());
    let belongs = format!("{} belongs to user {owner} and group {of_group}", there.display());
    if there != path {
        let path = path.display();
        return Some(format!(
            "{belongs}, and user {user} and group {group} may not make {path} there: make it, and \
             give it to them (chown {user}:{group})"
        ));
    }
    let instead = match owner {
        0 => String::new(),
        _ => format!(", or run as its owner (in a container PUID={owner} and PGID={of_group})"),
    };
    Some(format!(
        "{belongs}, and user {user} and group {group} may not use it: give it to them (chown \
         {user}:{group}, with -R for all that it holds){instead}"
    ))
}

/// What the configuration says of it goes before what was so far.
pub fn set_umask(storage: &Storage) {
    if let Some(mask) = storage.umask {
        umask(Mode::from_raw_mode(mask.0));
    }
}

/// Gives empty directories to the user: a new volume belongs to root. One that holds anything is left as it
/// is, because it may be large and belong to another program.
fn hand_over(directory: &Path, user: u32, group: u32) {
    let is_empty = std::fs::read_dir(directory).is_ok_and(|mut entries| entries.next().is_none());
    if is_empty {
        let _ = std::os::unix::fs::chown(directory, Some(user), Some(group));
    }
}

/// Images set it, so that other commands know what `run --container` does there.
pub const CONTAINER_VARIABLE: &str = "BERGAMOT_CONTAINER";
/// As most images have it.
const USUAL_ID: u32 = 1000;
/// The one above it means "leave it".
const MOST_ID: u32 = u32::MAX - 1;

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> anyhow::Result<Identity> {
        let find = |name: &str| variables.iter().find(|(known, _)| *known == name);
        Identity::read(|name| find(name).map(|(_, value)| value.into()))
    }

    #[test]
    fn variables_are_numbers_or_refused_by_name() {
        let identity = read(&[("PUID", "99"), ("PGID", " 100"), ("UMASK", "0002")]).unwrap();
        assert_eq!(identity, Identity { user: Some(99), group: Some(100), umask: Some(2) });
        let none = Identity { user: None, group: None, umask: None };
        assert_eq!(read(&[("PUID", "")]).unwrap(), none);
        for (name, value) in
            [("PUID", "ann"), ("PGID", "-1"), ("UMASK", "8"), ("UMASK", "7777"), ("PUID", "1 2")]
        {
            assert!(read(&[(name, value)]).unwrap_err().to_string().starts_with(name));
        }
        assert!(read(&[("PUID", "4294967295")]).is_err());
    }

    #[test]
    fn root_is_root_in_its_group_too() {
        let wanted = |variables: &[(&str, &str)]| read(variables).unwrap().wanted();
        assert_eq!(wanted(&[("PUID", "0")]), (0, 0));
        assert_eq!(wanted(&[("PUID", "0"), ("PGID", "7")]), (0, 7));
        assert_eq!(wanted(&[("PUID", "7")]), (7, 1000));
        assert_eq!(wanted(&[]), (1000, 1000));
    }

    #[test]
    fn who_is_somebody_already_is_told_if_others_were_wanted() {
        let wanted = Identity { user: Some(7), group: None, umask: None };
        assert_eq!(wanted.remark(7, 1), None);
        assert!(wanted.remark(8, 1).unwrap().contains("user 8 and group 1"));
    }
}
