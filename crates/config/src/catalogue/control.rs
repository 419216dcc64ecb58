//! `[control]`

use super::{CREDENTIAL, Fallback, Key, Kind, Table};

pub(crate) static CONTROL: Table = Table {
    name: "control",
    repeated: false,
    about: "How the daemon is controlled: a Unix socket for this machine, and HTTP for programs that \
            speak NZBGet's or SABnzbd's language.",
    keys: &[
        Key {
            name: "socket",
            kind: Kind::Path("a path of at most 100 bytes, or \"\" for none"),
            default: Fallback::Told {
                words: "`$BERGAMOT_SOCKET`, or `/run/bergamot/bergamot.sock` where there is such a \
                        directory, or `bergamot.sock` in `$XDG_RUNTIME_DIR`, or in the state directory",
                example: "\"/run/bergamot/bergamot.sock\"",
            },
            about: "The Unix socket; whoever may open it has full control.",
        },
        Key {
            name: "socket_group",
            kind: Kind::Number { least: 0, most: 4_294_967_294 },
            default: Fallback::Told { words: "none", example: "100" },
            about: "The number of a group whose members may use the socket, beside the same user and root.",
        },
        Key {
            name: "address",
            kind: Kind::Text("an IP address, or \"\" for no HTTP"),
            default: Fallback::Is("\"127.0.0.1\""),
            about: "Where HTTP listens. An address that others can reach needs a password.",
        },
        Key {
            name: "port",
            kind: Kind::Number { least: 0, most: 65_535 },
            default: Fallback::Is("6789"),
            about: "The port of HTTP; 0 takes any that is free.",
        },
        Key {
            name: "username",
            kind: Kind::Secret(CREDENTIAL),
            default: Fallback::Told { words: "any name", example: "\"bergamot\"" },
            about: "The name that goes with the password.",
        },
        Key {
            name: "password",
            kind: Kind::Secret(CREDENTIAL),
            default: Fallback::Told { words: "none", example: "\"secret\"" },
            about: "Gives full control over HTTP. Without one, whoever reaches the port has it.",
        },
        Key {
            name: "password_file",
            kind: Kind::Path("the path of a file that holds the password and nothing else"),
            default: Fallback::Told { words: "none", example: "\"control.password\"" },
            about: "Read the password from this file instead.",
        },
        Key {
            name: "restricted_username",
            kind: Kind::Secret(CREDENTIAL),
            default: Fallback::Told { words: "any name", example: "\"guest\"" },
            about: "The name for everything but the configuration.",
        },
        Key {
            name: "restricted_password",
            kind: Kind::Secret(CREDENTIAL),
            default: Fallback::Told {
                words: "none, so nobody has that right",
                example: "\"secret\"",
            },
            about: "Gives the right to everything but the configuration.",
        },
        Key {
            name: "add_username",
            kind: Kind::Secret(CREDENTIAL),
            default: Fallback::Told { words: "any name", example: "\"indexer\"" },
            about: "The name for nothing but adding NZBs.",
        },
        Key {
            name: "add_password",
            kind: Kind::Secret(CREDENTIAL),
            default: Fallback::Told {
                words: "none, so nobody has that right",
                example: "\"secret\"",
            },
            about: "Gives the right to add NZBs and nothing else.",
        },
        Key {
            name: "api_key",
            kind: Kind::Secret(CREDENTIAL),
            default: Fallback::Told { words: "none", example: "\"secret\"" },
            about: "The API key for programs that speak SABnzbd's language; it gives full control, also as a \
                    bearer token.",
        },
        Key {
            name: "api_key_file",
            kind: Kind::Path("the path of a file that holds the key and nothing else"),
            default: Fallback::Told { words: "none", example: "\"control.api_key\"" },
            about: "Read that key from this file instead.",
        },
        Key {
            name: "nzb_key",
            kind: Kind::Secret(CREDENTIAL),
            default: Fallback::Told { words: "none", example: "\"secret\"" },
            about: "A key of the same kind that gives the right to add NZBs and nothing else.",
        },
        Key {
            name: "local_directories",
            kind: Kind::Texts("a list of paths"),
            default: Fallback::Is("[]"),
            about: "Directories, beside the watch folder, from which programs may add NZBs by their path.",
        },
        Key {
            name: "allowed_hosts",
            kind: Kind::Texts("a list of host names"),
            default: Fallback::Is("[]"),
            about: "Names with dots in them by which browsers and programs may call this machine; IP \
                    addresses, localhost and names without dots always may.",
        },
        Key {
            name: "allowed_origins",
            kind: Kind::Texts("a list of origins, like \"https://panel.example.com\""),
            default: Fallback::Is("[]"),
            about: "Web pages whose scripts may call; they still need the password.",
        },
    ],
};
