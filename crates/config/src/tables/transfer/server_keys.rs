//! `[[server]]`

use crate::catalogue::{CREDENTIAL, Fallback, Key, MOST_QUOTA, Table};
use crate::reading::kind::Kind;

pub(crate) static SERVER: Table = Table {
    name: "server",
    repeated: true,
    about: "A news server. Repeat the table for each one; without any, nothing can be downloaded.",
    keys: &[
        Key {
            name: "name",
            kind: Kind::Text("a name of at most 64 characters that no other server has"),
            default: Fallback::Required { example: "\"example\"" },
            about: "What the server is called in logs and records, for good.",
        },
        Key {
            name: "active",
            kind: Kind::Flag,
            default: Fallback::Is("true"),
            about: "Whether the server is used at all.",
        },
        Key {
            name: "host",
            kind: Kind::Text("a host name or an IP address, without a port"),
            default: Fallback::Required { example: "\"news.example.com\"" },
            about: "Where the server is found.",
        },
        Key {
            name: "port",
            kind: Kind::Number { least: 1, most: 65_535 },
            default: Fallback::Told {
                words: "563 with encryption = \"tls\", else 119",
                example: "563",
            },
            about: "The port it listens on.",
        },
        Key {
            name: "username",
            kind: Kind::Secret(CREDENTIAL),
            default: Fallback::Told { words: "no login", example: "\"ann\"" },
            about: "The name to log in with; the environment may give it instead.",
        },
        Key {
            name: "password",
            kind: Kind::Secret(CREDENTIAL),
            default: Fallback::Told { words: "none", example: "\"secret\"" },
            about: "The password to log in with; the environment may give it instead.",
        },
        Key {
            name: "password_file",
            kind: Kind::Path("the path of a file that holds the password and nothing else"),
            default: Fallback::Told { words: "none", example: "\"example.password\"" },
            about: "Read the password from this file instead; a line end after it is left out.",
        },
        Key {
            name: "encryption",
            kind: Kind::Choice(&["tls", "starttls", "none"]),
            default: Fallback::Is("\"tls\""),
            about: "TLS from the first byte, TLS after STARTTLS, or none.",
        },
        Key {
            name: "cipher",
            kind: Kind::Text("names of cipher suites with : or , between them"),
            default: Fallback::Is("\"\""),
            about: "The only cipher suites to offer; empty offers all that are sound.",
        },
        Key {
            name: "cert_verification",
            kind: Kind::Flag,
            default: Fallback::Is("true"),
            about: "Whether the server has to prove who it is; without, anyone on the way can read \
                    the password.",
        },
        Key {
            name: "ca_file",
            kind: Kind::Path("the path of a file with certificates in PEM"),
            default: Fallback::Told { words: "none", example: "\"example-ca.pem\"" },
            about: "Certificates to trust beside the usual ones: of authorities, or the server's own.",
        },
        Key {
            name: "connections",
            kind: Kind::Number { least: 1, most: 500 },
            default: Fallback::Is("8"),
            about: "Connections at the same time, at most.",
        },
        Key {
            name: "rate",
            kind: Kind::Size { least: 0, most: 1 << 40 },
            default: Fallback::Is("\"0 B\""),
            about: "How much may be read from this server in a second; 0 B is no limit of its own.",
        },
        Key {
            name: "quota_daily",
            kind: Kind::Size { least: 0, most: MOST_QUOTA },
            default: Fallback::Is("\"0 GB\""),
            about: "How much this server may give in a day; 0 is no limit. When a quota of a server \
                    is reached, others are asked until it begins anew.",
        },
        Key {
            name: "quota_monthly",
            kind: Kind::Size { least: 0, most: MOST_QUOTA },
            default: Fallback::Is("\"0 GB\""),
            about: "How much it may give in a month; 0 is no limit.",
        },
        Key {
            name: "quota_reset_day",
            kind: Kind::Number { least: 1, most: 31 },
            default: Fallback::Told { words: "`quota.reset_day`", example: "15" },
            about: "The day on which its month begins.",
        },
        Key {
            name: "quota_total",
            kind: Kind::Size { least: 0, most: MOST_QUOTA },
            default: Fallback::Is("\"0 GB\""),
            about: "How much it may give in all, as block accounts are sold; 0 is no limit. When \
                    another block is bought, add it here.",
        },
        Key {
            name: "account",
            kind: Kind::Text("a name in one line"),
            default: Fallback::Told { words: "its own", example: "\"example\"" },
            about: "Servers of the same account together have no more connections than the largest `connections` among them, and one of these is kept for each.",
        },
        Key {
            name: "retention",
            kind: Kind::Days { most: 36_500 },
            default: Fallback::Is("0"),
            about: "Articles older than this are not asked for here; 0 asks for all.",
        },
        Key {
            name: "level",
            kind: Kind::Number { least: 0, most: 99 },
            default: Fallback::Is("0"),
            about: "Level 0 is asked first; a higher one only for what those below do not have.",
        },
        Key {
            name: "optional",
            kind: Kind::Flag,
            default: Fallback::Is("false"),
            about: "A download does not wait for this server when it is out of order.",
        },
        Key {
            name: "group",
            kind: Kind::Number { least: 0, most: 99 },
            default: Fallback::Is("0"),
            about: "Servers with the same group are mirrors: what one does not have, none has; 0 \
                    is no group.",
        },
        Key {
            name: "join_group",
            kind: Kind::Flag,
            default: Fallback::Is("false"),
            about: "Select the newsgroup before asking for an article; few servers need it.",
        },
        Key {
            name: "ip_version",
            kind: Kind::Choice(&["auto", "ipv4", "ipv6"]),
            default: Fallback::Is("\"auto\""),
            about: "The kind of address to reach it by.",
        },
    ],
};
