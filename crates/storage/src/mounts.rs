//! [`Mount`]: one line of the kernel's table of mounted file systems.

use std::path::{Path, PathBuf};

/// One line of `/proc/self/mountinfo` (proc(5)).
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Mount {
    pub point: PathBuf,
    /// Which directory of the file system is seen there: `/`, or that of a bind mount.
    pub root: PathBuf,
    pub kind: String,
}

impl Mount {
    /// An automount point: the first access mounts another file system over it.
    pub(crate) fn is_on_demand(&self) -> bool {
        self.kind == "autofs"
    }
}

/// In the order in which they were mounted, so that the last of one place is the one to be seen.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Mounts(Vec<Mount>);

impl Mounts {
    /// Lines that cannot be parsed are left out.
    pub fn parse(mountinfo: &[u8]) -> Self {
        Self(mountinfo.split(|byte| *byte == b'\n').filter_map(mount).take(MOST_MOUNTS).collect())
    }

    /// What a path stands on, be it there or not.
    pub fn below(&self, path: &Path) -> Option<&Mount> {
        let holds = self.0.iter().filter(|mount| path.starts_with(&mount.point));
        holds.max_by_key(|mount| mount.point.components().count())
    }

    fn is_mounted(&self, point: &Path) -> bool {
        self.0.iter().any(|mount| mount.point == point)
    }

    /// The nearest place above a path where something ought to be mounted and is not.
    pub fn lacking<'a>(&self, path: &Path, in_fstab: &'a [PathBuf]) -> Option<&'a Path> {
        let above = in_fstab.iter().filter(|point| path.starts_with(point));
        above.map(PathBuf::as_path).find(|point| !self.is_mounted(point))
    }
}

/// The mount points in `/etc/fstab`.
pub fn fstab_mounts(fstab: &[u8]) -> Vec<PathBuf> {
    let lines = fstab.split(|byte| *byte == b'\n').take(MOST_MOUNTS);
    let point = |line: &[u8]| {
        let mut words = words(line);
        let device = words.next()?;
        let point = unescaped(words.next()?);
        (!device.starts_with(b"#") && point.starts_with("/") && point != Path::new("/"))
            .then_some(point)
    };
    lines.filter_map(point).collect()
}

fn mount(line: &[u8]) -> Option<Mount> {
    let mut words = words(line);
    let root = unescaped(words.nth(3)?);
    let point = unescaped(words.next()?);
    let kind = words.skip_while(|word| *word != b"-").nth(1)?;
    Some(Mount { point, root, kind: String::from_utf8_lossy(kind).into_owned() })
}

fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty())
}

/// Blanks, line ends and backslashes are written as `\040`.
fn unescaped(word: &[u8]) -> PathBuf {
    let (mut bytes, mut rest) = (Vec::with_capacity(word.len()), word);
    while let Some((&first, tail)) = rest.split_first() {
        let octal = tail.get(..3).filter(|_| first == b'\\');
        let code = octal.and_then(|digits| str::from_utf8(digits).ok());
        match code.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &tail[3..];
            }
            None => {
                bytes.push(first);
                rest = tail;
            }
        }
    }
    // A path that is no UTF-8 is compared as far as it can be shown; it is never opened.
    PathBuf::from(String::from_utf8_lossy(&bytes).into_owned())
}

/// Containers have hundreds; more than this is none of our business.
const MOST_MOUNTS: usize = 10_000;

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &[u8] = b"22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n\
        30 22 0:40 /share /mnt/my\\040nas rw - nfs4 nas:/share rw\n\
        31 22 0:41 / /mnt rw shared:2 master:3 - tmpfs tmpfs rw\n\
        garbage\n\
        32 31 0:42 / /mnt/my\\040nas rw - cifs //nas/x rw\n";

    #[test]
    fn a_path_stands_on_the_nearest_and_last_mount_above_it() {
        let mounts = Mounts::parse(TABLE);
        for (path, point, kind) in [
            ("/", "/", "ext4"),
            ("/mnt", "/mnt", "tmpfs"),
            ("/mnt/my nas/a/b", "/mnt/my nas", "cifs"),
            ("/mnt/my nasty", "/mnt", "tmpfs"),
            ("/home/ann", "/", "ext4"),
        ] {
            let mount = mounts.below(Path::new(path)).unwrap();
            assert_eq!((mount.point.as_path(), mount.kind.as_str()), (Path::new(point), kind));
        }
        assert_eq!(Mounts::parse(b"").below(Path::new("/")), None);
    }

    #[test]
    fn what_fstab_promises_and_nobody_mounted_is_lacking() {
        let in_fstab = fstab_mounts(
            b"# a comment\n/dev/sda1 / ext4 defaults 0 1\nnas:/a /mnt/nas nfs noauto 0 0\n\
              /dev/sdb1 none swap sw\n\n/dev/sdc1 /srv/my\\040disk ext4 defaults\n#x /mnt nfs\n",
        );
        assert_eq!(in_fstab, [Path::new("/mnt/nas"), Path::new("/srv/my disk")]);
        let mounts = Mounts::parse(b"1 0 8:1 / / rw - ext4 a rw\n2 1 8:2 / /mnt/nas rw - nfs a rw");
        let lacking = |path| mounts.lacking(Path::new(path), &in_fstab);
        assert_eq!(lacking("/mnt/nas/downloads"), None);
        assert_eq!(lacking("/srv/my disk"), Some(Path::new("/srv/my disk")));
        assert_eq!(lacking("/srv/my disk 2"), None);
    }

    #[test]
    fn torn_and_odd_lines_do_no_harm() {
        for cut in 0..TABLE.len() {
            let mounts = Mounts::parse(&TABLE[..cut]);
            let _ = mounts.below(Path::new("/mnt/my nas"));
            let _ = fstab_mounts(&TABLE[..cut]);
        }
        assert_eq!(unescaped(b"a\\04"), Path::new("a\\04"));
        assert_eq!(unescaped(b"a\\999\\134"), Path::new("a\\999\\"));
    }
}
