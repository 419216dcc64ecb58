//! [`FirstStart`]: writes a commented configuration with a password of its own where there is none. Before the main
//! loop runs.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;

use bergamot_config as config;
use bergamot_config::{Environment, Setting};
use bergamot_store::KnownMounts;

/// What was written, for the log.
#[derive(Debug)]
pub struct FirstStart {
    pub config: PathBuf,
    pub password: Place,
    pub api_key: Place,
}

/// Where a secret is stored: in a file that the first start writes, unless it is configured already.
#[derive(Debug, Eq, PartialEq)]
pub enum Place {
    File(PathBuf),
    Variable(String),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => path.display().fmt(f),
            Self::Variable(name) => f.write_str(name),
        }
    }
}

/// Writes a configuration to `path`, if there is none; `layout` is what differs from the defaults.
pub fn prepare(
    path: &Path,
    layout: &[Setting],
    environment: &Environment,
) -> anyhow::Result<Option<FirstStart>> {
    if path.try_exists().with_context(|| format!("cannot look at {}", path.display()))? {
        return Ok(None);
    }
    let path = std::path::absolute(path)?;
    let directory = path.parent().unwrap_or(Path::new("/"));
    // The configuration may well be there, on a disk that is not.
    KnownMounts::default().check(directory).context("no configuration is written")?;
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
    let mut settings = layout.to_vec();
    let mut secret = |key, key_of_file, name: &str| {
        if let Some(variable) = environment.variable_of("control", key) {
            return Ok(Place::Variable(variable.to_owned()));
        }
        settings.push(("control", key_of_file, format!("\"{name}\"")));
        let path = directory.join(name);
        // One that is there is of a first start that came to no end.
        match create(&path, format!("{}\n", new_secret()?).as_bytes()) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            written => written.with_context(unwritable)?,
        }
        anyhow::Ok(Place::File(path))
    };
    let password = secret("password", "password_file", PASSWORD_FILE)?;
    let api_key = secret("api_key", "api_key_file", API_KEY_FILE)?;
    // The configuration comes last: without it, all of this begins again.
    create(&path, config::first_file(&settings).as_bytes()).with_context(unwritable)?;
    make_watch_folder(&path, directory, environment);
    Ok(Some(FirstStart { config: path, password, api_key }))
}

/// Creates the watch folder if it is below the directory of the configuration. Elsewhere it may belong to another
/// program, or to a disk that is not mounted. Errors are ignored: the daemon reports a missing watch folder, and
/// errors of the settings, when it starts.
fn make_watch_folder(path: &Path, directory: &Path, environment: &Environment) {
    let watch = config::Config::read(path, environment).map(|config| config.directories.watch);
    if let Some(watch) = watch.ok().filter(|watch| watch.starts_with(directory)) {
        let _ = fs::create_dir_all(watch);
    }
}

/// What images have: each directory can be a volume of its own.
pub fn container_layout() -> Vec<Setting> {
    [
        ("directories", "watch", "\"/watch\""),
        ("directories", "incomplete", "\"/downloads/incomplete\""),
        ("directories", "complete", "\"/downloads/complete\""),
        ("control", "address", "\"0.0.0.0\""),
    ]
    .map(|(table, key, value)| (table, key, value.to_owned()))
    .into()
}

/// Readable by its owner only, since it may hold secrets. It is created completely or not at all.
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
fn new_secret() -> anyhow::Result<String> {
    let mut bytes = [0; SECRET_LENGTH];
    let flags = rustix::rand::GetRandomFlags::empty();
    let count = rustix::rand::getrandom(&mut bytes, flags).context("no random numbers")?;
    anyhow::ensure!(count == SECRET_LENGTH, "too few random numbers");
    Ok(bytes.iter().map(|byte| char::from(LETTERS[usize::from(byte % 32)])).collect())
}

const PASSWORD_FILE: &str = "control.password";
const API_KEY_FILE: &str = "control.api_key";
const LETTERS: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
/// Five bits each: 120.
const SECRET_LENGTH: usize = 24;

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use bergamot_config::{Config, Environment};

    #[test]
    fn what_is_written_can_be_read_and_is_left_alone_the_next_time() {
        let (home, none) = (tempfile::tempdir().unwrap(), Environment::default());
        let path = home.path().join("new/bergamot.toml");
        let first = prepare(&path, &container_layout(), &none).unwrap().expect("there was none");
        assert!(!home.path().join("new/watch").exists(), "it is elsewhere");
        let config = Config::read(&path, &none).unwrap();
        assert_eq!(config.directories.watch, Path::new("/watch"));
        assert_eq!(config.control.address, "0.0.0.0:6789".parse().ok());
        let password = config.control.full.password.expect("it is protected");
        let api_key = config.control.api_key.expect("there is a key");
        assert_eq!(
            (password.reveal().len(), api_key.reveal().len()),
            (SECRET_LENGTH, SECRET_LENGTH)
        );
        assert_ne!(password, api_key);
        assert_eq!(config.servers, []);
        let directory = path.parent().unwrap();
        assert_eq!(first.password, Place::File(directory.join(PASSWORD_FILE)));
        for name in ["bergamot.toml", PASSWORD_FILE, API_KEY_FILE] {
            let mode = fs::metadata(directory.join(name)).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{name}");
        }
        assert!(prepare(&path, &[], &none).unwrap().is_none());
        fs::remove_file(&path).unwrap();
        prepare(&path, &container_layout(), &none).unwrap();
        let again = Config::read(&path, &none).unwrap();
        assert_eq!(again.control.full.password, Some(password));
        assert_ne!(new_secret().unwrap(), new_secret().unwrap());
    }

    #[test]
    fn what_the_environment_says_is_not_made_up_again() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("bergamot.toml");
        let given = [("BERGAMOT__CONTROL__PASSWORD", "hunter2")];
        let given: Environment =
            given.map(|(name, value)| (name.into(), value.into())).into_iter().collect();
        let first = prepare(&path, &container_layout(), &given).unwrap().expect("there was none");
        assert_eq!(first.password.to_string(), "BERGAMOT__CONTROL__PASSWORD");
        assert_eq!(first.api_key, Place::File(home.path().join(API_KEY_FILE)));
        assert!(!home.path().join(PASSWORD_FILE).exists());
        let config = Config::read(&path, &given).unwrap();
        assert_eq!(config.control.full.password.unwrap().reveal(), "hunter2");
    }
}
