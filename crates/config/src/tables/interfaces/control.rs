//! `[control]`: [`Control`], the socket, the HTTP address, logins and keys.

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

use bergamot_types::Secret;

use crate::catalogue::{CREDENTIAL, Fallback, Key, Table};
use crate::reading::credentials::read_password;
use crate::reading::fields::Fields;
use crate::reading::kind::Kind;

pub(crate) static CONTROL: Table = Table {
    name: "control",
    repeated: false,
    about: "How the daemon is controlled: over a Unix socket on this machine, and over HTTP for clients of \
            the NZBGet and SABnzbd APIs.",
    keys: &[
        Key {
            name: "socket",
            kind: Kind::Path("a path of at most 100 bytes, or \"\" for none"),
            default: Fallback::Described {
                words: "`$BERGAMOT_SOCKET`, or `/run/bergamot/bergamot.sock` where there is such a \
                        directory, or `bergamot.sock` in `$XDG_RUNTIME_DIR`, or in the state directory",
                example: "\"/run/bergamot/bergamot.sock\"",
            },
            about: "The Unix socket; every process that may open it has full control.",
        },
        Key {
            name: "socket_group",
            kind: Kind::Number { least: 0, most: 4_294_967_294 },
            default: Fallback::Described { words: "none", example: "100" },
            about: "The id of a group whose members may use the socket, in addition to the daemon's user and \
                    root.",
        },
        Key {
            name: "address",
            kind: Kind::Text("an IP address, or \"\" for no HTTP"),
            default: Fallback::Is("\"127.0.0.1\""),
            about: "The address on which HTTP listens. An address that other machines can reach requires a \
                    password.",
        },
        Key {
            name: "port",
            kind: Kind::Number { least: 0, most: 65_535 },
            default: Fallback::Is("6789"),
            about: "The port of HTTP; 0 is any free port.",
        },
        Key {
            name: "username",
            kind: Kind::Secret(CREDENTIAL),
            default: Fallback::Described { words: "any name", example: "\"bergamot\"" },
            about: "The user name of that login.",
        },
        Key {
            name: "password",
            kind: Kind::Secret(CREDENTIAL),
            default: Fallback::Described { words: "none", example: "\"secret\"" },
            about: "The password for full control over HTTP. If none is set, every client that reaches the \
                    port has full control.",
        },
        Key {
            name: "password_file",
            kind: Kind::Path("the path of a file that holds the password and nothing else"),
            default: Fallback::Described { words: "none", example: "\"control.password\"" },
            about: "Read the password from this file instead.",
        },
        Key {
            name: "restricted_username",
            kind: Kind::Secret(CREDENTIAL),
            default: Fallback::Described { words: "any name", example: "\"guest\"" },
            about: "The user name of the login that may do everything except change the configuration.",
        },
        Key {
            name: "restricted_password",
            kind: Kind::Secret(CREDENTIAL),
            default: Fallback::Described {
                words: "none: there is no such login",
                example: "\"secret\"",
            },
            about: "The password of that login.",
        },
        Key {
            name: "add_username",
            kind: Kind::Secret(CREDENTIAL),
            default: Fallback::Described { words: "any name", example: "\"indexer\"" },
            about: "The user name of the login that may only add NZBs.",
        },
        Key {
            name: "add_password",
            kind: Kind::Secret(CREDENTIAL),
            default: Fallback::Described {
                words: "none: there is no such login",
                example: "\"secret\"",
            },
            about: "The password of that login.",
        },
        Key {
            name: "api_key",
            kind: Kind::Secret(CREDENTIAL),
            default: Fallback::Described { words: "none", example: "\"secret\"" },
            about: "The API key for clients of the SABnzbd API; it gives full control, also as a bearer \
                    token.",
        },
        Key {
            name: "api_key_file",
            kind: Kind::Path("the path of a file that holds the key and nothing else"),
            default: Fallback::Described { words: "none", example: "\"control.api_key\"" },
            about: "Read the API key from this file instead.",
        },
        Key {
            name: "nzb_key",
            kind: Kind::Secret(CREDENTIAL),
            default: Fallback::Described { words: "none", example: "\"secret\"" },
            about: "An API key that may only add NZBs.",
        },
        Key {
            name: "local_directories",
            kind: Kind::Texts("a list of paths"),
            default: Fallback::Is("[]"),
            about: "Directories, in addition to the watch folder, from which clients may add NZBs by path.",
        },
        Key {
            name: "allowed_hosts",
            kind: Kind::Texts("a list of host names"),
            default: Fallback::Is("[]"),
            about: "Host names with a dot that requests may use for this machine; IP addresses, localhost \
                    and names without a dot are always accepted.",
        },
        Key {
            name: "allowed_origins",
            kind: Kind::Texts("a list of origins, like \"https://panel.example.com\""),
            default: Fallback::Is("[]"),
            about: "Origins of web pages whose scripts may send requests; they still need the password.",
        },
    ],
};

#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Control {
    pub socket: Socket,
    pub socket_group: Option<u32>,
    /// Where HTTP listens.
    pub address: Option<SocketAddr>,
    pub full: Access,
    pub restricted: Access,
    pub add: Access,
    /// As SABnzbd's clients have them: for everything, and for adding NZBs alone.
    pub api_key: Option<Secret>,
    pub nzb_key: Option<Secret>,
    /// From which NZBs are taken by their path, beside the watch folder.
    pub local_directories: Vec<PathBuf>,
    pub allowed_hosts: Vec<String>,
    pub allowed_origins: Vec<String>,
}

#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Socket {
    None,
    At(PathBuf),
    /// Where such sockets usually are.
    Usual,
}

/// The credentials of one access level. Without a password the level has no login; full control is then given
/// to every client of this machine.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Access {
    /// Any name will do, if there is none.
    pub username: Option<Secret>,
    pub password: Option<Secret>,
}

impl Control {
    pub(crate) fn read(mut fields: Fields<'_, '_>, base: &Path) -> Self {
        let socket = socket(&mut fields, base);
        let mut full = access(&mut fields, "username", "password");
        full.password = or_in_file(&mut fields, full.password, ("password", "password_file"), base);
        let api_key = secret(&mut fields, "api_key");
        let api_key = or_in_file(&mut fields, api_key, ("api_key", "api_key_file"), base);
        let address = address(&mut fields);
        let is_open = address.is_some_and(|address| !address.ip().is_loopback());
        if is_open && full.password.is_none() {
            fields.unfit("address", "others can reach it, so control.password has to be set");
        }
        Self {
            socket,
            socket_group: fields.number_if_any("socket_group"),
            address,
            full,
            restricted: access(&mut fields, "restricted_username", "restricted_password"),
            add: access(&mut fields, "add_username", "add_password"),
            api_key,
            nzb_key: secret(&mut fields, "nzb_key"),
            local_directories: directories(&mut fields, base),
            allowed_hosts: texts(&mut fields, "allowed_hosts"),
            allowed_origins: texts(&mut fields, "allowed_origins"),
        }
    }
}

fn socket(fields: &mut Fields<'_, '_>, base: &Path) -> Socket {
    match fields.text("socket") {
        None => Socket::Usual,
        Some(text) if text.is_empty() => Socket::None,
        Some(_) => match fields.path("socket", base) {
            // The kernel's own limit leaves room for this.
            Some(path) if path.as_os_str().len() > LONGEST_SOCKET => {
                fields.unfit("socket", format!("{} is longer", path.display()));
                Socket::Usual
            }
            Some(path) => Socket::At(path),
            None => Socket::Usual,
        },
    }
}

fn address(fields: &mut Fields<'_, '_>) -> Option<SocketAddr> {
    let port = fields.number("port");
    if fields.text("address").is_some_and(|text| text.is_empty()) {
        return None;
    }
    fields.parsed::<IpAddr>("address").map(|ip| SocketAddr::new(ip, port))
}

fn access(fields: &mut Fields<'_, '_>, username: &str, password: &str) -> Access {
    Access { username: secret(fields, username), password: secret(fields, password) }
}

fn secret(fields: &mut Fields<'_, '_>, name: &str) -> Option<Secret> {
    fields.text(name).filter(|text| !text.is_empty()).map(Secret::new)
}

fn directories(fields: &mut Fields<'_, '_>, base: &Path) -> Vec<PathBuf> {
    texts(fields, "local_directories").into_iter().map(|path| base.join(path)).collect()
}

/// A secret as it is `written`, or what the file holds that another key names.
fn or_in_file(
    fields: &mut Fields<'_, '_>,
    written: Option<Secret>,
    (key, key_of_file): (&str, &'static str),
    base: &Path,
) -> Option<Secret> {
    let path = fields.path(key_of_file, base);
    match (written, path) {
        (Some(_), Some(_)) => {
            let reason = format!("there is also control.{key}; leave one of them out");
            fields.unfit(key_of_file, reason);
            None
        }
        (None, Some(path)) => match read_password(&path) {
            Ok(secret) => Some(secret),
            Err(reason) => {
                fields.unfit(key_of_file, format!("{} {reason}", path.display()));
                None
            }
        },
        (written, None) => written,
    }
}

fn texts(fields: &mut Fields<'_, '_>, name: &str) -> Vec<String> {
    fields.texts(name).into_iter().map(|(_, text)| text).collect()
}

/// What a socket's address can hold, less some room.
const LONGEST_SOCKET: usize = 100;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::{config, problems};

    #[test]
    fn it_listens_on_this_machine_alone_unless_told_otherwise() {
        let control = config("").control;
        assert_eq!(control.address, "127.0.0.1:6789".parse().ok());
        assert_eq!((control.socket, control.full), (Socket::Usual, Access::default()));
        let control = config("[control]\naddress = ''\nsocket = ''").control;
        assert_eq!((control.address, control.socket), (None, Socket::None));
        let control = config("[control]\nport = 0\nsocket = 'x.sock'").control;
        assert_eq!(control.address, "127.0.0.1:0".parse().ok());
        assert_eq!(control.socket, Socket::At("/srv/x.sock".into()));
    }

    #[test]
    fn an_address_that_others_reach_needs_a_password() {
        let open = "[control]\naddress = '0.0.0.0'\n";
        assert!(problems(open)[0].contains("control.password has to be set"), "{open}");
        let control = config(&format!("{open}password = 'x'")).control;
        assert_eq!(control.full.password, Some(Secret::new("x")));
    }

    #[test]
    fn keys_are_secrets_and_directories_begin_at_the_file() {
        let control =
            config("[control]\napi_key = 'a'\nnzb_key = ''\nlocal_directories = ['nzbs', '/x']")
                .control;
        assert_eq!((control.api_key, control.nzb_key), (Some(Secret::new("a")), None));
        assert_eq!(control.local_directories, [Path::new("/srv/nzbs"), Path::new("/x")]);
    }

    #[test]
    fn what_cannot_be_is_told() {
        for (text, told) in [
            ("address = 'localhost'", "an IP address"),
            ("password = 'a'\npassword_file = 'b'", "leave one of them out"),
            ("password_file = 'nowhere'", "cannot be read"),
            ("api_key = 'a'\napi_key_file = 'b'", "also control.api_key; leave one of them out"),
            ("api_key_file = 'nowhere'", "cannot be read"),
        ] {
            let found = problems(&format!("[control]\n{text}"));
            assert!(found[0].contains(told), "{found:?}");
        }
        let long = format!("[control]\nsocket = '{}'", "x".repeat(101));
        assert!(problems(&long)[0].contains("is longer"));
    }
}
