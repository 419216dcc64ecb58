//! [`add_server`] and [`remove_server`]: edit one `[[server]]` of the file and leave the rest of its text
//! unchanged.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs::{self, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use bergamot_api::request::NewServer;
use bergamot_types::{Secret, Shown};
use thiserror::Error;
use toml::Value;
use toml::de::DeTable;

use crate::reading::file;
use crate::{Config, ConfigError, Environment, LARGEST_FILE, Problem};

/// Why the file was not changed.
#[derive(Debug, Error)]
pub enum EditError {
    #[error("there is already a server called {0}")]
    AlreadyThere(String),
    #[error(transparent)]
    Broken(#[from] ConfigError),
    #[error("the server {0} is set by environment variables; remove those instead")]
    FromEnvironment(String),
    #[error("the file is written in a form that cannot be edited automatically; edit it by hand")]
    Entangled,
    #[error(
        "this change would send the password of the server {0} elsewhere; send the password along"
    )]
    SendsPassword(String),
    #[error("{0} belongs to a table that is not in the file")]
    NotInFile(String),
    #[error("the file has no server named {0}")]
    NotThere(String),
    #[error("the file was changed since it was read; reload it first")]
    NotRead,
    #[error("{option} is set by the environment variable {variable}")]
    Overridden { option: String, variable: String },
    #[error("{}", told(.0))]
    Unfit(Vec<Problem>),
    #[error("{} cannot be written: {error}", path.display())]
    Unwritable { path: PathBuf, error: io::Error },
}

/// Adds a server; returns the configuration with it.
pub fn add_server(
    path: &Path,
    environment: &Environment,
    server: &NewServer,
) -> Result<Config, EditError> {
    let (text, config) = read(path, environment)?;
    if find(&config, &server.name) {
        return Err(EditError::AlreadyThere(Shown(&server.name).to_string()));
    }
    let gap = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    let wanted = names(&config).chain([server.name.as_str()]).collect();
    let text = format!("{text}{gap}\n{}", lines_of(server));
    replace(path, environment, &text, |new| only_if(has_servers(new, &wanted)))
}

/// Removes a server; returns the configuration without it.
pub fn remove_server(
    path: &Path,
    environment: &Environment,
    name: &str,
) -> Result<Config, EditError> {
    let (text, config) = read(path, environment)?;
    match without(&text, name) {
        Some(text) => {
            let is_other = |other: &&str| other.to_lowercase() != name.to_lowercase();
            let wanted = names(&config).filter(is_other).collect();
            replace(path, environment, &text, |new| only_if(has_servers(new, &wanted)))
        }
        None if find(&config, name) => Err(EditError::FromEnvironment(Shown(name).to_string())),
        None => Err(EditError::NotThere(Shown(name).to_string())),
    }
}

/// Checks that the edited file means what was requested.
pub(crate) fn only_if(is_wanted: bool) -> Result<(), EditError> {
    if is_wanted { Ok(()) } else { Err(EditError::Entangled) }
}

fn has_servers(config: &Config, wanted: &BTreeSet<&str>) -> bool {
    names(config).collect::<BTreeSet<_>>() == *wanted
}

fn names(config: &Config) -> impl Iterator<Item = &str> {
    config.servers.iter().map(|server| server.name.as_str())
}

fn find(config: &Config, name: &str) -> bool {
    config.servers.iter().any(|server| server.name.to_lowercase() == name.to_lowercase())
}

/// Only a valid file is edited.
pub(crate) fn read(path: &Path, environment: &Environment) -> Result<(String, Config), EditError> {
    let config = Config::read(path, environment)?;
    let unreadable = |error| ConfigError::Unreadable { path: path.to_owned(), error };
    let bytes = file::read(path, LARGEST_FILE).map_err(unreadable)?;
    let text = String::from_utf8(bytes).map_err(|error| unreadable(io::Error::other(error)))?;
    Ok((text, config))
}

/// Writes the new text if it is valid and passes the check. Reading it also sets up the TLS of each server,
/// so that a file that could not be used afterwards is never written.
pub(crate) fn replace(
    path: &Path,
    environment: &Environment,
    text: &str,
    is_wanted: impl FnOnce(&Config) -> Result<(), EditError>,
) -> Result<Config, EditError> {
    let base = path.parent().unwrap_or(Path::new("/"));
    let config = Config::parse(text.as_bytes(), base, environment).map_err(EditError::Unfit)?;
    let unwritable = |error| EditError::Unwritable { path: path.to_owned(), error };
    if text.len() as u64 > LARGEST_FILE {
        return Err(unwritable(io::ErrorKind::FileTooLarge.into()));
    }
    is_wanted(&config)?;
    write(path, text.as_bytes()).map_err(unwritable)?;
    Ok(Config { path: path.to_owned(), ..config })
}

fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    // A symbolic link is kept; the file behind it is written.
    let path = fs::canonicalize(path)?;
    // A read-only file is not replaced, though the directory would allow it.
    if fs::metadata(&path)?.permissions().mode() & 0o222 == 0 {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "it is read-only"));
    }
    match put_in_place(&path, bytes) {
        Err(error) if is_fixed(&error) => write_over(&path, bytes),
        result => result,
    }
}

fn put_in_place(path: &Path, bytes: &[u8]) -> io::Result<()> {
    // It may contain passwords now.
    let mode = fs::metadata(path)?.permissions().mode() & 0o700;
    let directory = path.parent().unwrap_or(Path::new("/"));
    let mut file = tempfile::Builder::new().prefix(".bergamot").tempfile_in(directory)?;
    file.write_all(bytes)?;
    file.as_file().set_permissions(Permissions::from_mode(mode))?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error).map(drop)
}

/// Whether the file has to be overwritten in place: a file that is a mount point itself, or is in a directory
/// that is not writable, cannot be replaced by a rename. A full disk is a different error.
fn is_fixed(error: &io::Error) -> bool {
    use io::ErrorKind::{CrossesDevices, PermissionDenied, ReadOnlyFilesystem, ResourceBusy};
    matches!(error.kind(), CrossesDevices | PermissionDenied | ReadOnlyFilesystem | ResourceBusy)
}

/// Restores the old content if the new one cannot be written in full.
fn write_over(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let before = fs::read(path)?;
    let over = |bytes: &[u8]| {
        let mut file = fs::File::options().write(true).open(path)?;
        file.write_all(bytes)?;
        file.set_len(bytes.len() as u64)?;
        file.sync_all()
    };
    over(bytes).inspect_err(|_| drop(over(&before)))
}

fn lines_of(server: &NewServer) -> String {
    let text = |value: &str| Some(Value::from(value));
    let number = |value: Option<u32>| value.map(|value| Value::from(i64::from(value)));
    let values = [
        ("name", text(&server.name)),
        ("host", text(&server.host)),
        ("port", number(server.port.map(u32::from))),
        ("username", server.username.as_deref().and_then(text)),
        ("password", server.password.as_ref().map(Secret::reveal).and_then(text)),
        ("encryption", server.encryption.as_deref().and_then(text)),
        ("connections", number(server.connections.map(u32::from))),
        ("level", number(server.level)),
        ("optional", server.optional.map(Value::from)),
        ("retention", number(server.retention)),
    ];
    let mut lines = "[[server]]\n".to_owned();
    for (key, value) in values {
        if let Some(value) = value {
            writeln!(lines, "{key} = {value}").expect("a string takes all text");
        }
    }
    lines
}

/// The text without the lines of that server, from its header to its last value.
fn without(text: &str, name: &str) -> Option<String> {
    let document = DeTable::parse(file::without_mark(text)).ok()?;
    let mark = text.len() - file::without_mark(text).len();
    let items = document.get_ref().get("server")?.get_ref().as_array()?;
    let is_it = |values: &DeTable<'_>| {
        let written = values.get("name").and_then(|value| value.get_ref().as_str());
        written.is_some_and(|written| written.to_lowercase() == name.to_lowercase())
    };
    let item = items.iter().find(|item| item.get_ref().as_table().is_some_and(is_it))?;
    let values = item.get_ref().as_table()?;
    let last = values.values().map(|value| value.span().end).max()?.max(item.span().end);
    let first = values.keys().map(|key| key.span().start).min()?.min(item.span().start);
    let header = text[..mark + first].rfind(HEADER).filter(|_| first != item.span().start);
    let start = header.unwrap_or(mark + item.span().start);
    let start = text[..start].rfind('\n').map_or(mark, |end| end + 1);
    let end = text[mark + last..].find('\n').map_or(text.len(), |end| mark + last + end + 1);
    Some(format!("{}{}", &text[..start], &text[end..]))
}

fn told(problems: &[Problem]) -> String {
    // Without line numbers: they refer to the rejected text.
    let told = problems.iter().map(|problem| match &problem.key {
        Some(key) => format!("{key}: {}", problem.text),
        None => problem.text.clone(),
    });
    told.collect::<Vec<_>>().join("; ")
}

const HEADER: &str = "[[";

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "# mine\n[download]\nrate = '1 MB' # slow\n\n# the first\n[[server]]\n\
                        name = 'a'\n# why\nhost = 'a.example' # here\n\n[[server]]\n\
                        host = 'b.example'\nname = 'b'\n# end\n[log]\nlevel = 'info'\n";

    fn server(name: &str) -> NewServer {
        NewServer { name: name.to_owned(), host: "c.example".to_owned(), ..NewServer::default() }
    }

    fn home() -> (tempfile::TempDir, PathBuf) {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("bergamot.toml");
        fs::write(&path, FILE).unwrap();
        (home, path)
    }

    #[test]
    fn a_server_is_added_behind_all_that_people_wrote() {
        let (_home, path) = home();
        let new = NewServer {
            username: Some("ann".to_owned()),
            password: Some(Secret::new("a\"b\\c ü")),
            encryption: Some("none".to_owned()),
            port: Some(8119),
            connections: Some(4),
            ..server("c")
        };
        let config = add_server(&path, &Environment::default(), &new).unwrap();
        assert_eq!(config.servers.len(), 3);
        assert_eq!(config.servers[2].role.connections, 4);
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.starts_with(FILE));
        let again = Config::read(&path, &Environment::default()).unwrap();
        assert_eq!(again.servers, config.servers);
        let login = bergamot_nntp::Login::new("ann", Secret::new("a\"b\\c ü")).unwrap();
        assert_eq!(again.servers[2].login, Some(login));
    }

    #[test]
    fn what_cannot_be_added_leaves_the_file_alone() {
        let (_home, path) = home();
        let none = Environment::default();
        let told = |server: &NewServer| add_server(&path, &none, server).unwrap_err().to_string();
        assert_eq!(told(&server("A")), "there is already a server called A");
        let odd = NewServer { connections: Some(0), ..server("c") };
        assert_eq!(
            told(&odd),
            "server.connections: expected a whole number from 1 to 500, found 0"
        );
        let secret = NewServer { password: Some(Secret::new("hunter\n2")), ..server("c") };
        assert!(!told(&secret).contains("hunter"));
        let odd = NewServer { encryption: Some("tls".to_owned()), ..server("c\n") };
        assert!(told(&odd).starts_with("server.name: "), "{}", told(&odd));
        assert_eq!(fs::read_to_string(&path).unwrap(), FILE);
    }

    #[test]
    fn a_server_is_taken_out_with_its_lines_and_no_others() {
        let (_home, path) = home();
        let none = Environment::default();
        let config = remove_server(&path, &none, "A").unwrap();
        assert_eq!(config.servers.len(), 1);
        assert_eq!(
            fs::read_to_string(&path).unwrap(),
            "# mine\n[download]\nrate = '1 MB' # slow\n\n# the first\n\n[[server]]\n\
             host = 'b.example'\nname = 'b'\n# end\n[log]\nlevel = 'info'\n"
        );
        remove_server(&path, &none, "b").unwrap();
        assert_eq!(
            fs::read_to_string(&path).unwrap(),
            "# mine\n[download]\nrate = '1 MB' # slow\n\n# the first\n\n# end\n[log]\n\
             level = 'info'\n"
        );
        let error = remove_server(&path, &none, "b").unwrap_err();
        assert!(matches!(error, EditError::NotThere(_)), "{error}");
        let given = crate::trial::environment(&[("BERGAMOT__SERVER__X__HOST", "x")]);
        let error = remove_server(&path, &given, "x").unwrap_err();
        assert!(matches!(error, EditError::FromEnvironment(_)), "{error}");
    }

    #[test]
    fn a_file_that_is_broken_is_not_touched() {
        let (_home, path) = home();
        fs::write(&path, "[download").unwrap();
        let error = add_server(&path, &Environment::default(), &server("c")).unwrap_err();
        assert!(matches!(error, EditError::Broken(_)), "{error}");
        let (home, path) = self::home();
        fs::write(home.path().join("ca.pem"), "no certificate").unwrap();
        let file = format!("{FILE}[[server]]\nname = 'd'\nhost = 'd'\nca_file = 'ca.pem'\n");
        fs::write(&path, &file).unwrap();
        let error = add_server(&path, &Environment::default(), &server("c")).unwrap_err();
        assert!(error.to_string().contains("ca_file"), "{error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), file);
    }
}
