//! [`Socket`]: the Unix socket in the file system; owns its file and checks the user of each connection.

use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};

use tokio::net::unix::UCred;
use tokio::net::{UnixListener, UnixStream};

use crate::access::{Access, Caller};
use crate::server::StartError;

/// Takes its file away when it is dropped, if that is still ours.
#[derive(Debug)]
pub(crate) struct Socket {
    path: PathBuf,
    identity: Option<(u64, u64)>,
    group: Option<u32>,
    own_user: u32,
}

impl Socket {
    /// Must be called within a runtime.
    pub(crate) fn bind(
        path: &Path,
        group: Option<u32>,
    ) -> Result<(Self, UnixListener), StartError> {
        let failed = |source| StartError::Socket { path: path.to_owned(), source };
        if path.as_os_str().len() > LONGEST_PATH {
            return Err(StartError::PathTooLong { path: path.to_owned(), limit: LONGEST_PATH });
        }
        remove_stale(path)?;
        let listener = UnixListener::bind(path).map_err(failed)?;
        fs::set_permissions(path, fs::Permissions::from_mode(MODE)).map_err(failed)?;
        if let Some(group) = group {
            chown(path, None, Some(group)).map_err(failed)?;
        }
        let own_user = rustix::process::geteuid().as_raw();
        let socket = Self { path: path.to_owned(), identity: identity(path), group, own_user };
        Ok((socket, listener))
    }

    /// A socket of the service manager, which also removes it.
    pub(crate) fn take_over(
        listener: std::os::unix::net::UnixListener,
        group: Option<u32>,
    ) -> Result<(Self, UnixListener), StartError> {
        let address = listener.local_addr().ok();
        let path = address.and_then(|address| address.as_pathname().map(Path::to_owned));
        let path = path.unwrap_or_default();
        let failed = |source| StartError::Socket { path: path.clone(), source };
        listener.set_nonblocking(true).map_err(failed)?;
        let listener = UnixListener::from_std(listener).map_err(failed)?;
        let own_user = rustix::process::geteuid().as_raw();
        Ok((Self { path, identity: None, group, own_user }, listener))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The file's permissions have let them in already; between `bind` and `chmod` they may have
    /// been wider, so the peer's user is checked here once more.
    pub(crate) fn caller(&self, stream: &UnixStream) -> Option<Caller> {
        let peer = stream.peer_cred().ok()?;
        let user = peer.uid();
        let known = user == self.own_user
            || user == 0
            || self.group.is_some_and(|group| is_member(&peer, group));
        known.then(|| Caller {
            is_authenticated: true,
            access: Access::Control,
            name: format!("user {user} over the socket"),
        })
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        if self.identity.is_some() && identity(&self.path) == self.identity {
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn identity(path: &Path) -> Option<(u64, u64)> {
    fs::symlink_metadata(path).ok().map(|data| (data.dev(), data.ino()))
}

/// A socket on which no process listens is left over from a daemon that died.
fn remove_stale(path: &Path) -> Result<(), StartError> {
    let failed = |source| StartError::Socket { path: path.to_owned(), source };
    let data = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        other => other.map_err(failed)?,
    };
    if !data.file_type().is_socket() {
        return Err(StartError::NotASocket(path.to_owned()));
    }
    match std::os::unix::net::UnixStream::connect(path) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            fs::remove_file(path).map_err(failed)
        }
        Err(error) => Err(failed(error)),
        Ok(_) => Err(StartError::InUse(path.to_owned())),
    }
}

/// The kernel passes the primary group only; the others are read from `/proc`.
fn is_member(peer: &UCred, group: u32) -> bool {
    if peer.gid() == group {
        return true;
    }
    let Some(process) = peer.pid() else { return false };
    let Ok(status) = fs::read_to_string(format!("/proc/{process}/status")) else { return false };
    let groups = status.lines().find_map(|line| line.strip_prefix("Groups:")).unwrap_or_default();
    groups.split_whitespace().any(|listed| listed.parse() == Ok(group))
}

const MODE: u32 = 0o660;
/// `sun_path` has 108 bytes, and the last is 0 (unix(7)).
const LONGEST_PATH: usize = 107;
