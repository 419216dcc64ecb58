//! [`keep_private`]: creates directories with mode 0700 regardless of the umask, since they hold the names and records
//! of jobs. Runs before the main loop.

use std::fs::{self, DirBuilder, Permissions};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt, chown};
use std::path::Path;

use rustix::process::geteuid;

/// Makes the directory if need be, and takes from others what an older version or the umask of its day
/// gave them. Errors are ignored here and reported when the directory is used; some shares have no modes.
pub(crate) fn keep_private(path: &Path) {
    if let Some(parent) = path.parent() {
        let _ = fs::create_dir_all(parent);
    }
    let _ = DirBuilder::new().mode(OWNER).create(path);
    let Ok(metadata) = fs::metadata(path) else { return };
    let is_ours = metadata.uid() == geteuid().as_raw();
    if is_ours && metadata.is_dir() && metadata.mode() & 0o777 & !OWNER != 0 {
        let _ = fs::set_permissions(path, Permissions::from_mode(OWNER));
    }
}

/// Also lets members of the group pass through to what they know the name of; they cannot list it. Where
/// the group cannot be set the directory stays private: the control socket cannot be given to that group
/// either, and that is an error of the start.
pub(crate) fn let_group_pass(path: &Path, group: u32) {
    keep_private(path);
    let is_ours = fs::metadata(path).is_ok_and(|it| it.uid() == geteuid().as_raw() && it.is_dir());
    if is_ours && chown(path, None, Some(group)).is_ok() {
        let _ = fs::set_permissions(path, Permissions::from_mode(OWNER_AND_PASSAGE));
    }
}

const OWNER: u32 = 0o700;
const OWNER_AND_PASSAGE: u32 = 0o710;
