//! A configuration where there is none: commented, with a password that nobody else knows.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::config::{self, Setting};

/// What was written, for the log.
#[derive(Debug)]
pub(crate) struct FirstStart {
    pub(crate) config: PathBuf,
    pub(crate) password: PathBuf,
}

/// Writes a configuration to `path`, if there is none; `layout` is what differs from the defaults.
pub(crate) fn prepare(path: &Path, layout: &[Setting]) -> anyhow::Result<Option<FirstStart>> {
    if path.try_exists().with_context(|| format!("cannot look at {}", path.display()))? {
        return Ok(None);
    }
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let directory = directory.unwrap_or(Path::new("."));
    let unwritable = || {
        let (user, group) = (rustix::process::geteuid(), rustix::process::getegid());
        format!(
            "no configuration can be written to {}: user {} and group {} have to be allowed to",
            directory.display(),
            user.as_raw(),
            group.as_raw()
        )
    };
    fs::create_dir_all(directory).with_context(unwritable)?;
    let password = directory.join(PASSWORD_FILE);
    // The configuration comes last: without it, all of this begins again.
    match create(&password, format!("{}\n", new_password()?).as_bytes()) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        written => written.with_context(unwritable)?,
    }
    let control = ("control", "password_file", format!("\"{PASSWORD_FILE}\""));
    let settings: Vec<_> = layout.iter().cloned().chain([control]).collect();
    create(path, config::first_file(&settings).as_bytes()).with_context(unwritable)?;
    Ok(Some(FirstStart { config: path.to_owned(), password }))
}

/// What images have: each directory can be a volume of its own.
pub(crate) fn container_layout() -> Vec<Setting> {
    [
        ("directories", "watch", "\"/watch\""),
        ("directories", "incomplete", "\"/downloads/incomplete\""),
        ("directories", "complete", "\"/downloads/complete\""),
        ("control", "address", "\"0.0.0.0\""),
    ]
    .map(|(table, key, value)| (table, key, value.to_owned()))
    .into()
}

/// Nobody but us may read it, for it may hold secrets; and it is whole or not there.
fn create(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if path.try_exists()? {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    let directory = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::Builder::new().prefix(".new").tempfile_in(directory)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist_noclobber(path).map_err(|error| error.error)?;
    // Where a directory cannot be synced the name lives as long as the machine.
    let _ = File::open(directory).and_then(|directory| directory.sync_all());
    Ok(())
}

/// Letters that cannot be mistaken for each other, and need no care in a shell or an address.
fn new_password() -> anyhow::Result<String> {
    let mut bytes = [0; PASSWORD_LENGTH];
    let flags = rustix::rand::GetRandomFlags::empty();
    let count = rustix::rand::getrandom(&mut bytes, flags).context("no random numbers")?;
    anyhow::ensure!(count == PASSWORD_LENGTH, "too few random numbers");
    Ok(bytes.iter().map(|byte| char::from(LETTERS[usize::from(byte % 32)])).collect())
}

pub(crate) const PASSWORD_FILE: &str = "control.password";
const LETTERS: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
/// Five bits each: 120.
const PASSWORD_LENGTH: usize = 24;

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::config::{Config, Environment};

    #[test]
    fn what_is_written_can_be_read_and_is_left_alone_the_next_time() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("new/bergamot.toml");
        let first = prepare(&path, &container_layout()).unwrap().expect("there was none");
        let config = Config::read(&path, &Environment::default()).unwrap();
        assert_eq!(config.directories.watch, Path::new("/watch"));
        assert_eq!(config.control.address, "0.0.0.0:6789".parse().ok());
        let password = config.control.full.password.expect("it is protected");
        assert_eq!(password.reveal().len(), PASSWORD_LENGTH);
        assert_eq!(config.servers, []);
        for path in [&first.config, &first.password] {
            assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o600);
        }
        assert!(prepare(&path, &[]).unwrap().is_none());
        fs::remove_file(&path).unwrap();
        prepare(&path, &container_layout()).unwrap();
        let again = Config::read(&path, &Environment::default()).unwrap();
        assert_eq!(again.control.full.password, Some(password));
        assert_ne!(new_password().unwrap(), new_password().unwrap());
    }
}
