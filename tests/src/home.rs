//! [`Home`]: a temporary directory for each test.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};

use bergamot_rpc::{Client, ClientError};
use sha2::{Digest, Sha256};
use tempfile::TempDir;

/// Where the daemon under test lives, and a canary beside it that nothing may touch.
#[derive(Debug)]
pub struct Home {
    root: TempDir,
}

impl Home {
    /// # Panics
    /// When there is no room for a test.
    pub fn new() -> Self {
        Self::below(&std::env::temp_dir())
    }

    /// Where no disk has to be waited for, if there is such a place: for tests of thousands of jobs.
    pub fn in_memory() -> Self {
        let memory = Path::new("/dev/shm");
        if memory.is_dir() { Self::below(memory) } else { Self::new() }
    }

    /// On the disk that is mounted there.
    ///
    /// # Panics
    /// When there is no room for a test.
    pub fn below(place: &Path) -> Self {
        let mut builder = tempfile::Builder::new();
        let root = builder.prefix("bergamot-test-").tempdir_in(place).expect("a directory");
        for name in ["daemon/watch", "canary"] {
            fs::create_dir_all(root.path().join(name)).expect("a directory");
        }
        fs::write(root.path().join("canary/bird"), "alive").expect("a canary");
        Self { root }
    }

    /// The directory of the configuration, with `watch`, `incomplete`, `complete` and `state`.
    pub fn path(&self) -> PathBuf {
        self.root.path().join("daemon")
    }

    pub fn join(&self, path: impl AsRef<Path>) -> PathBuf {
        self.path().join(path)
    }

    /// A connection to the control socket of the daemon that runs here.
    pub fn connect(&self) -> Result<Client, ClientError> {
        Client::connect_socket(&self.join("control.sock"))
    }

    pub(crate) fn give_to(&self, user: u32) {
        for path in [self.root.path().to_owned(), self.path(), self.join("watch")] {
            chown(path, Some(user), Some(user)).expect("only the superuser comes here");
        }
    }

    /// Puts a file into the watch folder, complete from the first moment.
    pub fn drop_nzb(&self, name: &str, content: impl AsRef<[u8]>) {
        let target = self.join("watch").join(name);
        fs::create_dir_all(target.parent().expect("it lies in the watch folder"))
            .expect("a folder");
        let draft = self.path().join("draft");
        fs::write(&draft, content).expect("a draft");
        fs::rename(draft, target).expect("a drop");
    }

    /// Why a file of the watch folder was refused, as it stands beside it; the file itself is kept
    /// under its mark.
    ///
    /// # Panics
    /// When it was not refused, or is not what was dropped.
    pub fn refusal(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        self.verdict(name, "error", content)
    }

    /// The same for a mark of another kind.
    ///
    /// # Panics
    /// When there is none, or the file is not what was dropped.
    pub fn verdict(&self, name: &str, mark: &str, content: impl AsRef<[u8]>) -> String {
        let marked = self.join("watch").join(format!("{name}.{mark}"));
        let kept = fs::read(&marked).unwrap_or_else(|_| panic!("{} is there", marked.display()));
        assert!(kept == content.as_ref(), "{name} is kept as it was");
        assert!(!self.join("watch").join(name).exists(), "{name} has its mark");
        let beside = marked.with_added_extension("txt");
        fs::read_to_string(&beside).unwrap_or_else(|_| panic!("{} is there", beside.display()))
    }

    /// Every file below a directory with its content's SHA-256.
    pub fn inventory(&self, below: impl AsRef<Path>) -> BTreeMap<PathBuf, String> {
        let base = self.join(below);
        let mut found = BTreeMap::new();
        collect(&base, &base, &mut found);
        found
    }

    /// # Panics
    /// When anything was made, changed or removed outside the daemon's own directories, or when
    /// there is a link or special file among its results.
    pub fn assert_contained(&self) {
        let mut names: Vec<_> = entries(self.root.path());
        names.sort();
        assert_eq!(names, ["canary", "daemon"], "nothing is made beside the daemon's home");
        assert_eq!(entries(&self.root.path().join("canary")), ["bird"]);
        assert_eq!(
            fs::read_to_string(self.root.path().join("canary/bird")).unwrap_or_default(),
            "alive"
        );
        assert_plain(&self.join("complete"));
    }
}

impl Default for Home {
    fn default() -> Self {
        Self::new()
    }
}

pub fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn entries(directory: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

fn collect(base: &Path, directory: &Path, found: &mut BTreeMap<PathBuf, String>) {
    for name in entries(directory) {
        let path = directory.join(name);
        if path.is_dir() {
            collect(base, &path, found);
        } else if let Ok(bytes) = fs::read(&path) {
            let relative = path.strip_prefix(base).unwrap_or(&path).to_owned();
            found.insert(relative, sha256(&bytes));
        }
    }
}

fn assert_plain(directory: &Path) {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    for name in entries(directory) {
        let path = directory.join(name);
        let metadata = fs::symlink_metadata(&path).expect("it was just listed");
        if metadata.is_dir() {
            assert_plain(&path);
            continue;
        }
        assert!(metadata.is_file(), "{} is no plain file", path.display());
        assert_eq!(metadata.nlink(), 1, "{} has a second name", path.display());
        assert_eq!(metadata.permissions().mode() & 0o7111, 0, "{} is executable", path.display());
    }
}
