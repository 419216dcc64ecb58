//! [`MountRecord`]: the file system that a directory is on, and whether it is still mounted.
//!
//! Device numbers change between starts and some file systems invent their fsid, but the mount point stays
//! the same. So these are recorded: the mount point, the type of the file system, and which of its
//! directories is mounted there. The last two detect a container whose host has lost the share: then the bind
//! mount still exists and shows the disk of the host.

use std::path::{Path, PathBuf};

use crate::mounts::{Mount, Mounts};

/// The mount of a directory, recorded at its first use.
#[derive(Clone, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize, serde::Serialize))]
pub struct MountRecord {
    pub mount: PathBuf,
    pub root: PathBuf,
    pub kind: String,
}

/// Whether a directory is still on the recorded mount.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum MountCheck {
    /// The same mount as recorded.
    Unchanged,
    /// There is no record, or a mount nearer to the directory than before: this is to be recorded.
    New(MountRecord),
    /// Another file system is mounted there than recorded.
    Replaced { was: MountRecord, is: MountRecord },
    /// The recorded mount, or the one in `/etc/fstab`, is missing.
    Unmounted(PathBuf),
}

/// `in_fstab` are the mount points of `/etc/fstab`; they count only while nothing is recorded, so that a
/// user's `storage accept` overrides them.
pub fn check_mount(
    path: &Path,
    remembered: Option<&MountRecord>,
    mounts: &Mounts,
    in_fstab: &[PathBuf],
) -> MountCheck {
    // Without a mount table nothing can be checked.
    let Some(mount) = mounts.below(path) else { return MountCheck::Unchanged };
    if mount.is_on_demand() {
        // The share behind it could not be mounted.
        let known = remembered.map(|was| &was.mount).filter(|known| path.starts_with(known));
        return MountCheck::Unmounted(known.unwrap_or(&mount.point).clone());
    }
    let is = MountRecord::of(mount);
    let Some(was) = remembered else {
        return match mounts.lacking(path, in_fstab) {
            Some(point) => MountCheck::Unmounted(point.to_owned()),
            None => MountCheck::New(is),
        };
    };
    if is.mount == was.mount {
        // The root file system may be recreated, as that of a container is.
        let is_same = is.mount == Path::new("/") || (&is.root, &is.kind) == (&was.root, &was.kind);
        return match is_same {
            true => MountCheck::Unchanged,
            false => MountCheck::Replaced { was: was.clone(), is },
        };
    }
    match was.mount.starts_with(&is.mount) && path.starts_with(&was.mount) {
        true => MountCheck::Unmounted(was.mount.clone()),
        false => MountCheck::New(is),
    }
}

impl MountRecord {
    fn of(mount: &Mount) -> Self {
        let kind = match mount.kind.as_str() {
            // One and the same share may be mounted by either version.
            "nfs4" => "nfs",
            "smb3" => "cifs",
            kind => kind,
        };
        Self { mount: mount.point.clone(), root: mount.root.clone(), kind: kind.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mounts(lines: &[(&str, &str, &str)]) -> Mounts {
        let line = |(root, point, kind): &(&str, &str, &str)| {
            format!("1 0 8:1 {root} {point} rw - {kind} x rw\n")
        };
        Mounts::parse(lines.iter().map(line).collect::<String>().as_bytes())
    }

    fn first(path: &str, mounts: &Mounts) -> MountRecord {
        match check_mount(Path::new(path), None, mounts, &[]) {
            MountCheck::New(record) => record,
            verdict => panic!("{verdict:?}"),
        }
    }

    const SYSTEM: (&str, &str, &str) = ("/", "/", "ext4");
    const SHARE: (&str, &str, &str) = ("/", "/mnt/nas", "nfs4");

    #[test]
    fn a_share_that_is_not_mounted_is_missed() {
        let (path, with) = ("/mnt/nas/downloads", mounts(&[SYSTEM, SHARE]));
        let was = first(path, &with);
        let judged = |mounts: &Mounts| check_mount(Path::new(path), Some(&was), mounts, &[]);
        assert_eq!(judged(&with), MountCheck::Unchanged);
        assert_eq!(judged(&mounts(&[SYSTEM, ("/", "/mnt/nas", "nfs")])), MountCheck::Unchanged);
        let unmounted = MountCheck::Unmounted("/mnt/nas".into());
        assert_eq!(judged(&mounts(&[SYSTEM])), unmounted);
        assert_eq!(judged(&mounts(&[SYSTEM, ("/", "/mnt", "tmpfs")])), unmounted);
        assert_eq!(judged(&Mounts::default()), MountCheck::Unchanged, "no mounts are known");
    }

    #[test]
    fn versions_of_one_protocol_are_the_same_share() {
        for (one, other) in [("nfs4", "nfs"), ("smb3", "cifs")] {
            let was = first("/mnt/nas", &mounts(&[SYSTEM, ("/", "/mnt/nas", one)]));
            let now = mounts(&[SYSTEM, ("/", "/mnt/nas", other)]);
            assert_eq!(
                check_mount(Path::new("/mnt/nas"), Some(&was), &now, &[]),
                MountCheck::Unchanged
            );
        }
    }

    #[test]
    fn a_place_where_something_is_mounted_on_demand_is_nothing_to_stand_on() {
        let place = ("/", "/mnt/nas", "autofs");
        let (bare, with) = (mounts(&[SYSTEM, place]), mounts(&[SYSTEM, place, SHARE]));
        let path = Path::new("/mnt/nas/downloads");
        let unmounted = MountCheck::Unmounted("/mnt/nas".into());
        assert_eq!(check_mount(path, None, &bare, &[]), unmounted);
        let was = first("/mnt/nas/downloads", &with);
        assert_eq!(was.kind, "nfs");
        assert_eq!(check_mount(path, Some(&was), &with, &[]), MountCheck::Unchanged);
        assert_eq!(check_mount(path, Some(&was), &bare, &[]), unmounted);
        let (table, below) = (("/", "/net", "autofs"), ("/", "/net/nas", "nfs"));
        let was = first("/net/nas/a", &mounts(&[SYSTEM, table, below]));
        let found =
            check_mount(Path::new("/net/nas/a"), Some(&was), &mounts(&[SYSTEM, table]), &[]);
        assert_eq!(found, MountCheck::Unmounted("/net/nas".into()));
    }

    #[test]
    fn a_container_whose_host_lost_the_share_sees_another_file_system() {
        let was = first("/downloads/a", &mounts(&[SYSTEM, ("/", "/downloads", "ext4")]));
        for other in [("/mnt/usb", "/downloads", "ext4"), ("/", "/downloads", "btrfs")] {
            let found =
                check_mount(Path::new("/downloads/a"), Some(&was), &mounts(&[SYSTEM, other]), &[]);
            assert!(matches!(found, MountCheck::Replaced { .. }), "{found:?}");
        }
    }

    #[test]
    fn what_the_system_stands_on_may_change() {
        let was = first("/srv/downloads", &mounts(&[SYSTEM]));
        let found =
            |table: &[_]| check_mount(Path::new("/srv/downloads"), Some(&was), &mounts(table), &[]);
        assert_eq!(found(&[("/", "/", "overlay")]), MountCheck::Unchanged);
        let nearer = found(&[SYSTEM, ("/", "/srv", "xfs")]);
        assert!(matches!(nearer, MountCheck::New(record) if record.mount == Path::new("/srv")));
    }

    #[test]
    fn fstab_is_believed_until_something_is_remembered() {
        let (path, in_fstab) = (Path::new("/mnt/nas/a"), ["/mnt/nas".into()]);
        let bare = mounts(&[SYSTEM]);
        assert_eq!(
            check_mount(path, None, &bare, &in_fstab),
            MountCheck::Unmounted("/mnt/nas".into())
        );
        let accepted = MountRecord::of(bare.below(path).unwrap());
        assert_eq!(check_mount(path, Some(&accepted), &bare, &in_fstab), MountCheck::Unchanged);
    }
}
