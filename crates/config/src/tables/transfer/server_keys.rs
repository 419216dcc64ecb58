//! The keys of `[[server]]`.

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
            about: "The name of the server in logs and records. Under a new name it counts as a new server.",
        },
        Key {
            name: "active",
            kind: Kind::Flag,
            default: Fallback::Is("true"),
            about: "Whether the server is used.",
        },
        Key {
            name: "host",
            kind: Kind::Text("a host name or an IP address, without a port"),
            default: Fallback::Required { example: "\"news.example.com\"" },
            about: "The host of the server.",
        },
        Key {
            name: "port",
            kind: Kind::Number { least: 1, most: 65_535 },
            default: Fallback::Described {
                words: "563 with encryption = \"tls\", else 119",
                example: "563",
            },
            about: "The port it listens on.",
        },
        Key {
            name: "username",
            kind: Kind::Secret(CREDENTIAL),
            default: Fallback::Described { words: "no login", example: "\"ann\"" },
            about: "The user name to log in with; an environment variable can set it instead.",
        },
        Key {
            name: "password",
            kind: Kind::Secret(CREDENTIAL),
            default: Fallback::Described { words: "none", example: "\"secret\"" },
            about: "The password to log in with; an environment variable can set it instead.",
        },
        Key {
            name: "password_file",
            kind: Kind::Path("the path of a file that holds the password and nothing else"),
            default: Fallback::Described { words: "none", example: "\"example.password\"" },
            about: "Read the password from this file instead; a line end after it is removed.",
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
            about: "The only cipher suites to offer; if empty, all secure ones are offered.",
        },
        Key {
            name: "cert_verification",
            kind: Kind::Flag,
            default: Fallback::Is("true"),
            about: "Whether the certificate of the server is verified. If not, an attacker on the network \
                    path can read the password.",
        },
        Key {
            name: "ca_file",
            kind: Kind::Path("the path of a file with certificates in PEM"),
            default: Fallback::Described { words: "none", example: "\"example-ca.pem\"" },
            about: "Certificates to trust in addition to the public ones: of authorities, or the server's \
                    own.",
        },
        Key {
            name: "connections",
            kind: Kind::Number { least: 1, most: 500 },
            default: Fallback::Is("8"),
            about: "The most connections at the same time.",
        },
        Key {
            name: "rate",
            kind: Kind::Size { least: 0, most: 1 << 40 },
            default: Fallback::Is("\"0 B\""),
            about: "Bytes per second that may be read from this server; 0 B is no limit of its own.",
        },
        Key {
            name: "quota_daily",
            kind: Kind::Size { least: 0, most: MOST_QUOTA },
            default: Fallback::Is("\"0 GB\""),
            about: "Bytes per day that may be downloaded from this server; 0 is no limit. When a quota of a \
                    server is reached, other servers are asked until its next period begins.",
        },
        Key {
            name: "quota_monthly",
            kind: Kind::Size { least: 0, most: MOST_QUOTA },
            default: Fallback::Is("\"0 GB\""),
            about: "Bytes per month that may be downloaded from this server; 0 is no limit.",
        },
        Key {
            name: "quota_reset_day",
            kind: Kind::Number { least: 1, most: 31 },
            default: Fallback::Described { words: "`quota.reset_day`", example: "15" },
            about: "The day on which a month of this server begins.",
        },
        Key {
            name: "quota_total",
            kind: Kind::Size { least: 0, most: MOST_QUOTA },
            default: Fallback::Is("\"0 GB\""),
            about: "Bytes that may be downloaded from this server in total, for block accounts; 0 is no \
                    limit. After buying another block, add its size here.",
        },
        Key {
            name: "account",
            kind: Kind::Text("a name in one line"),
            default: Fallback::Described { words: "its own", example: "\"example\"" },
            about: "Servers with the same account share its connections: together they have at most the \
                    largest `connections` among them, and one is reserved for each.",
        },
        Key {
            name: "retention",
            kind: Kind::Days { most: 36_500 },
            default: Fallback::Is("0"),
            about: "Articles older than this are not requested from this server; 0 requests all.",
        },
        Key {
            name: "level",
            kind: Kind::Number { least: 0, most: 99 },
            default: Fallback::Is("0"),
            about: "Servers of level 0 are asked first, those of a higher level only for articles that all \
                    lower ones lack.",
        },
        Key {
            name: "optional",
            kind: Kind::Flag,
            default: Fallback::Is("false"),
            about: "Whether downloads continue without this server while it does not work.",
        },
        Key {
            name: "group",
            kind: Kind::Number { least: 0, most: 99 },
            default: Fallback::Is("0"),
            about: "Servers with the same group are mirrors: an article that one lacks is not requested from \
                    the others; 0 is no group.",
        },
        Key {
            name: "join_group",
            kind: Kind::Flag,
            default: Fallback::Is("false"),
            about: "Select the newsgroup before requesting an article; few servers need it.",
        },
        Key {
            name: "ip_version",
            kind: Kind::Choice(&["auto", "ipv4", "ipv6"]),
            default: Fallback::Is("\"auto\""),
            about: "The IP version of connections to this server.",
        },
    ],
};
