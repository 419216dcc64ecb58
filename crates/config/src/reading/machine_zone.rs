//! The time zone of this machine, read once: `/etc/localtime`, else `/etc/timezone`.
//!
//! Where `/etc/localtime` is a link, it leads to a file named for the zone. In a container it is often a
//! file that was mounted there, without a name; then its content counts, and not `/etc/timezone`, which
//! is the image's.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;
use std::sync::OnceLock;

use bergamot_limit::Zone;

/// `None` where the machine says nothing, or nothing that is understood.
pub fn machine_zone() -> Option<Zone> {
    static ZONE: OnceLock<Option<Zone>> = OnceLock::new();
    *ZONE.get_or_init(|| zone_below(Path::new("/etc")))
}

fn zone_below(directory: &Path) -> Option<Zone> {
    let local = directory.join("localtime");
    let linked = fs::read_link(&local).ok().and_then(|target| zone_of_link(&target));
    linked.or_else(|| zone_of_file(&local)).or_else(|| {
        let name = bounded(&directory.join("timezone"))?;
        std::str::from_utf8(&name).ok()?.trim().parse().ok()
    })
}

/// As in `/usr/share/zoneinfo/Europe/Berlin`; some systems have `posix/` or `right/` before the name.
fn zone_of_link(target: &Path) -> Option<Zone> {
    let (_, name) = target.to_str()?.split_once("zoneinfo/")?;
    let plain = name.strip_prefix("posix/").or_else(|| name.strip_prefix("right/"));
    plain.unwrap_or(name).parse().ok()
}

fn zone_of_file(path: &Path) -> Option<Zone> {
    Zone::from_file(bounded(path)?)
}

/// A regular file: a pipe of that name would never end.
fn bounded(path: &Path) -> Option<Vec<u8>> {
    if !fs::metadata(path).ok()?.is_file() {
        return None;
    }
    let mut content = Vec::new();
    File::open(path).ok()?.take(LARGEST_FILE).read_to_end(&mut content).ok()?;
    Some(content)
}

/// Zone files have about 4 KiB at most.
const LARGEST_FILE: u64 = 64 << 10;

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use bergamot_types::UnixTime;

    use super::*;

    /// UTC+1 without summer time, as a zone file has it.
    fn zone_file() -> Vec<u8> {
        let mut file = Vec::new();
        for _ in 0..2 {
            file.extend(b"TZif2");
            file.resize(file.len() + 15, 0);
            file.extend([0, 0, 0, 0, 1, 4].into_iter().flat_map(u32::to_be_bytes));
            file.extend(3600_i32.to_be_bytes());
            file.extend([0, 0]);
            file.extend(b"ONE\0");
        }
        file.extend(b"\nONE-1\n");
        file
    }

    #[test]
    fn a_link_a_file_or_a_name_tells_the_zone() {
        let etc = tempfile::tempdir().unwrap();
        let found = || zone_below(etc.path()).map(|zone| zone.to_string());
        assert_eq!(found(), None);
        fs::write(etc.path().join("timezone"), "Asia/Kolkata\n").unwrap();
        assert_eq!(found().as_deref(), Some("Asia/Kolkata"));
        let local = etc.path().join("localtime");
        fs::write(&local, zone_file()).unwrap();
        let noon = UnixTime(1_800_014_400);
        let zone = zone_below(etc.path()).unwrap();
        assert_eq!(zone.written(noon), "2027-01-15 13:00", "the file counts, not the name");
        fs::write(&local, "nonsense").unwrap();
        assert_eq!(found().as_deref(), Some("Asia/Kolkata"));
        for target in
            ["/usr/share/zoneinfo/Europe/Berlin", "../usr/share/zoneinfo/right/Europe/Berlin"]
        {
            fs::remove_file(&local).unwrap();
            symlink(target, &local).unwrap();
            assert_eq!(found().as_deref(), Some("Europe/Berlin"), "{target}");
        }
    }
}
