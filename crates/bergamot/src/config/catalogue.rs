//! Every table and key of the configuration, in the order of the sample file.
//!
//! This is the one place where a key is named: reading, its error messages, the sample and the
//! documentation all come from here, so they cannot disagree.

use std::time::Duration;

use super::kind::Kind;

#[derive(Debug)]
pub(super) struct Table {
    pub(super) name: &'static str,
    /// Written `[[name]]`, once for each thing it describes.
    pub(super) repeated: bool,
    pub(super) about: &'static str,
    pub(super) keys: &'static [Key],
}

#[derive(Debug)]
pub(super) struct Key {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    pub(super) default: Fallback,
    pub(super) about: &'static str,
}

/// What holds when a key is not there. Values are written as in TOML.
#[derive(Clone, Copy, Debug)]
pub(super) enum Fallback {
    /// Always the same.
    Is(&'static str),
    /// There has to be a value.
    Required { example: &'static str },
    /// It depends, or there is none.
    Told { words: &'static str, example: &'static str },
}

impl Table {
    pub(super) fn key(&self, name: &str) -> Option<&'static Key> {
        self.keys.iter().find(|key| key.name == name)
    }

    pub(super) fn header(&self) -> String {
        if self.repeated { format!("[[{}]]", self.name) } else { format!("[{}]", self.name) }
    }
}

pub(super) static TABLES: &[&Table] = &[
    &DIRECTORIES,
    &WATCH,
    &URLS,
    &DOWNLOAD,
    &QUOTA,
    &CONTROL,
    &GROUPS,
    &HISTORY,
    &PROBES,
    &STORAGE,
    &METRICS,
    &LIMITS,
    &LOG,
    &FEEDS,
    &SERVER,
    &CATEGORY,
    &SCHEDULE,
    &FEED,
];

pub(super) static DIRECTORIES: Table = Table {
    name: "directories",
    repeated: false,
    about: "Where things lie. A relative path starts at the directory of the configuration file.",
    keys: &[
        Key {
            name: "watch",
            kind: Kind::Path("a path"),
            default: Fallback::Is("\"watch\""),
            about: "NZB files put here are downloaded; the name of a subfolder is the category.",
        },
        Key {
            name: "incomplete",
            kind: Kind::Path("a path"),
            default: Fallback::Is("\"incomplete\""),
            about: "Downloads that are under way, and those that failed.",
        },
        Key {
            name: "complete",
            kind: Kind::Path("a path"),
            default: Fallback::Is("\"complete\""),
            about: "Finished downloads, each in a directory of its own.",
        },
        Key {
            name: "state",
            kind: Kind::Path("a path"),
            default: Fallback::Is("\"state\""),
            about: "The queue, which outlives a restart, which files of each job are finished, and what is \
                    used of quotas.",
        },
    ],
};

pub(super) static WATCH: Table = Table {
    name: "watch",
    repeated: false,
    about: "How the watch folder is looked after.",
    keys: &[
        Key {
            name: "scan_interval",
            kind: Kind::Time { least: SECOND, most: HOUR },
            default: Fallback::Is("\"5 s\""),
            about: "The pause between two looks into the folder, where the kernel does not tell of new files. It grows to a minute while none come.",
        },
        Key {
            name: "inotify",
            kind: Kind::Flag,
            default: Fallback::Is("true"),
            about: "Let the kernel tell of new files as well; network shares do not, so they are \
                    still looked for.",
        },
        Key {
            name: "duplicates",
            kind: Kind::Choice(&["refuse", "accept"]),
            default: Fallback::Is("\"refuse\""),
            about: "Whether an NZB that was queued before is refused, or downloaded again.",
        },
    ],
};

pub(super) static URLS: Table = Table {
    name: "urls",
    repeated: false,
    about: "NZBs that are given by their address, instead of being sent.",
    keys: &[Key {
        name: "private_hosts",
        kind: Kind::Texts("a list of hosts, with or without a port"),
        default: Fallback::Is("[]"),
        about: "Hosts in private networks, such as a Prowlarr beside bergamot, from which NZBs may be \
                fetched; \"*\" is any of them. All others have to have public addresses, so that \
                nobody who may add NZBs can reach into the network here.",
    }],
};

pub(super) static DOWNLOAD: Table = Table {
    name: "download",
    repeated: false,
    about: "How articles are fetched, whatever the server.",
    keys: &[
        Key {
            name: "article_retries",
            kind: Kind::Number { least: 0, most: 99 },
            default: Fallback::Is("3"),
            about: "New connections that one article may cost a server before another is asked.",
        },
        Key {
            name: "memory",
            kind: Kind::Size { least: 4 * MIB, most: 64 << 30 },
            default: Fallback::Is("\"40 MiB\""),
            about: "The memory for all that is under way: connections, and articles until they are on the \
                    disk. Where a control group limits the process, at most a third of that.",
        },
        Key {
            name: "rate",
            kind: Kind::Size { least: 0, most: 1 << 40 },
            default: Fallback::Is("\"0 B\""),
            about: "How much all connections together may read in a second; 0 B is no limit.",
        },
        Key {
            name: "propagation_delay",
            kind: Kind::Time { least: Duration::ZERO, most: DAY },
            default: Fallback::Is("\"0 s\""),
            about: "How old a post must be before it is downloaded: the articles of a fresh one may not \
                    have reached every server. Forced jobs do not wait.",
        },
        Key {
            name: "pipeline",
            kind: Kind::Number { least: 1, most: 128 },
            default: Fallback::Is("128"),
            about: "The most articles asked for at once on each connection. How many are follows from \
                    how fast and how far away a server is; 1 waits for each answer.",
        },
        Key {
            name: "par2_volumes",
            kind: Kind::Choice(&["needed", "always"]),
            default: Fallback::Is("\"needed\""),
            about: "Fetch recovery volumes only when a download is damaged, or always.",
        },
        Key {
            name: "health_check",
            kind: Kind::Choice(&["park", "delete", "pause", "none"]),
            default: Fallback::Is("\"park\""),
            about: "When so much is lost that nothing can repair a download: give it up and keep \
                    what there is, give it up and delete it, pause it, or go on.",
        },
        Key {
            name: "idle",
            kind: Kind::Time { least: SECOND, most: HOUR },
            default: Fallback::Is("\"30 s\""),
            about: "A connection with nothing to do is kept this long.",
        },
        Key {
            name: "time_zone",
            kind: Kind::Text("a time zone like \"Europe/Berlin\" or \"UTC\""),
            default: Fallback::Told {
                words: "the variable TZ, else UTC",
                example: "\"Europe/Berlin\"",
            },
            about: "The zone in which schedules and quotas count their days.",
        },
    ],
};

pub(super) static QUOTA: Table = Table {
    name: "quota",
    repeated: false,
    about: "How much all servers together may give. When a quota is reached, downloads pause until it \
            begins anew; several hold together.",
    keys: &[
        Key {
            name: "daily",
            kind: Kind::Size { least: 0, most: MOST_QUOTA },
            default: Fallback::Is("\"0 GB\""),
            about: "How much in a day; 0 is no limit.",
        },
        Key {
            name: "weekly",
            kind: Kind::Size { least: 0, most: MOST_QUOTA },
            default: Fallback::Is("\"0 GB\""),
            about: "How much in a week; 0 is no limit.",
        },
        Key {
            name: "monthly",
            kind: Kind::Size { least: 0, most: MOST_QUOTA },
            default: Fallback::Is("\"0 GB\""),
            about: "How much in a month; 0 is no limit.",
        },
        Key {
            name: "reset_time",
            kind: Kind::Text(TIME_OF_DAY),
            default: Fallback::Is("\"00:00\""),
            about: "When a day of a quota begins, here and for the quotas of servers.",
        },
        Key {
            name: "reset_weekday",
            kind: Kind::Choice(&["mon", "tue", "wed", "thu", "fri", "sat", "sun"]),
            default: Fallback::Is("\"mon\""),
            about: "The day on which a week begins.",
        },
        Key {
            name: "reset_day",
            kind: Kind::Number { least: 1, most: 31 },
            default: Fallback::Is("1"),
            about: "The day on which a month begins; in a shorter month it is the last day.",
        },
    ],
};

pub(super) static CONTROL: Table = Table {
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

pub(super) static GROUPS: Table = Table {
    name: "groups",
    repeated: false,
    about: "How newsgroups are read. Nothing is read unless somebody asks for a group.",
    keys: &[
        Key {
            name: "headers",
            kind: Kind::Number { least: 100, most: 100_000 },
            default: Fallback::Is("5000"),
            about: "How many of its newest headers are read when a group is first asked for.",
        },
        Key {
            name: "memory",
            kind: Kind::Size { least: MIB, most: 4 << 30 },
            default: Fallback::Is("\"16 MiB\""),
            about: "What the headers of all groups may take; those nobody used for the longest time go first.",
        },
        Key {
            name: "compress",
            kind: Kind::Flag,
            default: Fallback::Is("true"),
            about: "Let servers that can compress what they say of newsgroups.",
        },
        Key {
            name: "reserved_connections",
            kind: Kind::Number { least: 0, most: 10 },
            default: Fallback::Is("0"),
            about: "Connections of each server that downloads leave to headers. Without one, headers wait \
                    until no download wants a connection.",
        },
    ],
};

pub(super) static HISTORY: Table = Table {
    name: "history",
    repeated: false,
    about: "How long ended jobs are remembered, with their NZBs for another try.",
    keys: &[
        Key {
            name: "keep",
            kind: Kind::Days { most: 25_000 },
            default: Fallback::Is("30"),
            about: "How many days a job stays in the history.",
        },
        Key {
            name: "most",
            kind: Kind::Number { least: 1, most: 1_000_000 },
            default: Fallback::Is("5000"),
            about: "The most jobs in it; the oldest go first.",
        },
    ],
};

pub(super) static STORAGE: Table = Table {
    name: "storage",
    repeated: false,
    about: "Room on the volumes, and the modes of what is made there.",
    keys: &[
        Key {
            name: "reserve",
            kind: Kind::Size { least: 0, most: 1 << 50 },
            default: Fallback::Told {
                words: "a fiftieth of the volume, at most 1 GiB",
                example: "\"5 GiB\"",
            },
            about: "What is kept free on each volume that jobs are written to. A job that does not fit \
                    beside that waits, and the next that fits runs.",
        },
        Key {
            name: "umask",
            kind: Kind::Text("permissions in octal, like \"022\""),
            default: Fallback::Told { words: "that of the process", example: "\"002\"" },
            about: "The permissions that new files and directories do not get.",
        },
        Key {
            name: "file_mode",
            kind: Kind::Text("permissions in octal, like \"0644\""),
            default: Fallback::Told { words: "what the umask leaves of 0666", example: "\"0664\"" },
            about: "The permissions of downloaded files, whatever the umask. Where a share refuses to \
                    set them, that is told once.",
        },
        Key {
            name: "directory_mode",
            kind: Kind::Text("permissions in octal, like \"0755\""),
            default: Fallback::Told { words: "what the umask leaves of 0777", example: "\"0775\"" },
            about: "The same for their directories.",
        },
    ],
};

pub(super) static PROBES: Table = Table {
    name: "probes",
    repeated: false,
    about: "Jobs that wait are looked after: a few of their articles are asked about, without fetching \
            them, so that a post that is gone is known before its turn. Servers with a quota are \
            never asked.",
    keys: &[
        Key {
            name: "enabled",
            kind: Kind::Flag,
            default: Fallback::Is("true"),
            about: "Whether that is done at all.",
        },
        Key {
            name: "interval",
            kind: Kind::Time { least: SECOND, most: DAY },
            default: Fallback::Is("\"15 min\""),
            about: "How often for each of the next jobs.",
        },
    ],
};

pub(super) static METRICS: Table = Table {
    name: "metrics",
    repeated: false,
    about: "What `/metrics` on the control port tells Prometheus and the like; see docs/metrics.md.",
    keys: &[
        Key {
            name: "access",
            kind: Kind::Choice(&["login", "open", "off"]),
            default: Fallback::Is("\"login\""),
            about: "Who may read it: those who may see the queue, everybody who reaches the port, or nobody.",
        },
        Key {
            name: "compat",
            kind: Kind::Texts("a list of \"nzbget\" and \"sabnzbd\""),
            default: Fallback::Is("[\"nzbget\"]"),
            about: "Exporters of other programs whose names are there beside our own, for dashboards that \
                    know them.",
        },
    ],
};

pub(super) static LIMITS: Table = Table {
    name: "limits",
    repeated: false,
    about: "How long a server may take before its connection is given up.",
    keys: &[
        Key {
            name: "connect",
            kind: Kind::Time { least: SECOND, most: TEN_MINUTES },
            default: Fallback::Is("\"15 s\""),
            about: "To look up the host and reach it.",
        },
        Key {
            name: "handshake",
            kind: Kind::Time { least: SECOND, most: TEN_MINUTES },
            default: Fallback::Is("\"15 s\""),
            about: "To agree on TLS.",
        },
        Key {
            name: "first_byte",
            kind: Kind::Time { least: SECOND, most: TEN_MINUTES },
            default: Fallback::Is("\"30 s\""),
            about: "To begin an answer.",
        },
        Key {
            name: "silence",
            kind: Kind::Time { least: SECOND, most: TEN_MINUTES },
            default: Fallback::Is("\"30 s\""),
            about: "Between two bytes of an article, and for the whole of any other answer.",
        },
        Key {
            name: "slowest_bytes",
            kind: Kind::Size { least: 0, most: 1 << 30 },
            default: Fallback::Is("\"30 KiB\""),
            about: "An article has to bring this much in every slowest_window; \"0 B\" lets it \
                    crawl.",
        },
        Key {
            name: "slowest_window",
            kind: Kind::Time { least: SECOND, most: HOUR },
            default: Fallback::Is("\"30 s\""),
            about: "The time for slowest_bytes.",
        },
    ],
};

pub(super) static LOG: Table = Table {
    name: "log",
    repeated: false,
    about: "What is written down, and where.",
    keys: &[
        Key {
            name: "level",
            kind: Kind::Text(
                "\"off\", \"error\", \"warn\", \"info\", \"debug\" or \"trace\", or a list such \
                 as \"info,bergamot_net=debug\"",
            ),
            default: Fallback::Is("\"info\""),
            about: "How much is logged, for everything or for each part of the program.",
        },
        Key {
            name: "file",
            kind: Kind::Path("a path"),
            default: Fallback::Told { words: "standard error", example: "\"bergamot.log\"" },
            about: "The file for the log; a relative path starts at the directory of the configuration \
                    file.",
        },
        Key {
            name: "rotate_at",
            kind: Kind::Size { least: 64 << 10, most: 64 << 30 },
            default: Fallback::Is("\"10 MiB\""),
            about: "A log file of this size is put aside and a new one begun.",
        },
        Key {
            name: "keep",
            kind: Kind::Number { least: 0, most: 1000 },
            default: Fallback::Is("5"),
            about: "Log files kept beside the one being written.",
        },
    ],
};

pub(super) static SERVER: Table = Table {
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
            about: "Certificates to trust beside the usual ones.",
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

pub(super) static CATEGORY: Table = Table {
    name: "category",
    repeated: true,
    about: "A category of downloads. Repeat the table for each one; without any there are tv, Movies, Music and Readarr, as other programs expect.",
    keys: &[
        Key {
            name: "name",
            kind: Kind::Text("a name that no other category or alias has"),
            default: Fallback::Required { example: "\"tv\"" },
            about: "What the category is called; case does not matter when it is looked up.",
        },
        Key {
            name: "directory",
            kind: Kind::Path("a path without \"..\""),
            default: Fallback::Told { words: "the name", example: "\"tv\"" },
            about: "Where its downloads go; a relative path starts at directories.complete.",
        },
        Key {
            name: "aliases",
            kind: Kind::Texts("a list of names that no other category or alias has"),
            default: Fallback::Is("[]"),
            about: "Other names for it, such as those that indexers use.",
        },
        Key {
            name: "priority",
            kind: Kind::Number { least: -1000, most: 1000 },
            default: Fallback::Is("0"),
            about: "Downloads of a higher priority come first.",
        },
    ],
};

pub(super) static SCHEDULE: Table = Table {
    name: "schedule",
    repeated: true,
    about: "A time of the week with a rate of its own, or without downloads. Repeat the table for each \
            one; where they overlap the later one holds.",
    keys: &[
        Key {
            name: "days",
            kind: Kind::Text("days of the week like \"mon-fri\", \"sat, sun\" or \"daily\""),
            default: Fallback::Is("\"daily\""),
            about: "The days on which it begins.",
        },
        Key {
            name: "from",
            kind: Kind::Text(TIME_OF_DAY),
            default: Fallback::Required { example: "\"08:00\"" },
            about: "When it begins, by clocks in download.time_zone.",
        },
        Key {
            name: "to",
            kind: Kind::Text(TIME_OF_DAY),
            default: Fallback::Required { example: "\"22:30\"" },
            about: "When it ends; on the next day, if that is not later than its begin.",
        },
        Key {
            name: "rate",
            kind: Kind::Size { least: 0, most: 1 << 40 },
            default: Fallback::Told { words: "none", example: "\"2 MB\"" },
            about: "How much all connections together may read in a second, instead of download.rate; \
                    0 B is no limit.",
        },
        Key {
            name: "pause",
            kind: Kind::Flag,
            default: Fallback::Is("false"),
            about: "Fetch nothing; articles that were asked for still come. It stands in place of a \
                    rate.",
        },
    ],
};

pub(super) static FEEDS: Table = Table {
    name: "feeds",
    repeated: false,
    about: "How feeds are followed, and the one that bergamot writes itself.",
    keys: &[
        Key {
            name: "concurrency",
            kind: Kind::Number { least: 1, most: 50 },
            default: Fallback::Is("5"),
            about: "How many feeds are read at once; one host is never asked twice at the same time.",
        },
        Key {
            name: "output",
            kind: Kind::Path("a path"),
            default: Fallback::Told { words: "none", example: "\"finished.xml\"" },
            about: "A file for an RSS feed of what was downloaded; it is served as `/rss` in any case.",
        },
        Key {
            name: "output_items",
            kind: Kind::Number { least: 1, most: 10_000 },
            default: Fallback::Is("100"),
            about: "How many of the last downloads that feed has.",
        },
        Key {
            name: "output_link",
            kind: Kind::Text("an address"),
            default: Fallback::Is("\"http://localhost/\""),
            about: "The page that the feed is said to belong to.",
        },
    ],
};

pub(super) static FEED: Table = Table {
    name: "feed",
    repeated: true,
    about: "A feed of an indexer: RSS, Atom or Newznab. Repeat the table for each one; what its rules \
            accept is downloaded.",
    keys: &[
        Key {
            name: "name",
            kind: Kind::Text("a name of at most 64 characters that no other feed has"),
            default: Fallback::Required { example: "\"indexer\"" },
            about: "What the feed is called in logs and records; under another name it begins anew.",
        },
        Key {
            name: "url",
            kind: Kind::Secret("an http or https address"),
            default: Fallback::Required { example: "\"https://indexer.example/api?t=search\"" },
            about: "Where it is; `{api_key}` stands for the key, which else is added as `apikey`.",
        },
        Key {
            name: "api_key",
            kind: Kind::Secret("a key"),
            default: Fallback::Told { words: "none", example: "\"secret\"" },
            about: "The key of the account. BERGAMOT_FEED_<NAME>_API_KEY in the environment stands in \
                    for it.",
        },
        Key {
            name: "api_key_file",
            kind: Kind::Path("the path of a file that holds the key and nothing else"),
            default: Fallback::Told { words: "none", example: "\"indexer.key\"" },
            about: "A file with the key, instead of the key itself.",
        },
        Key {
            name: "active",
            kind: Kind::Flag,
            default: Fallback::Is("true"),
            about: "Whether the feed is read at all.",
        },
        Key {
            name: "rules",
            kind: Kind::Text("rules, one a line"),
            default: Fallback::Told {
                words: "everything is taken",
                example: "\"Accept: debian -beta size:<5GB\"",
            },
            about: "Which items are taken, and what becomes of them; see docs/feeds.md.",
        },
        Key {
            name: "category",
            kind: Kind::Text("the name or an alias of a category"),
            default: Fallback::Told { words: "none", example: "\"tv\"" },
            about: "The category of its jobs, unless a rule says otherwise.",
        },
        Key {
            name: "priority",
            kind: Kind::Number { least: -1000, most: 1000 },
            default: Fallback::Told { words: "that of the category", example: "50" },
            about: "The priority of its jobs, unless a rule says otherwise.",
        },
        Key {
            name: "pause",
            kind: Kind::Flag,
            default: Fallback::Is("false"),
            about: "Queue its jobs paused, unless a rule says otherwise.",
        },
        Key {
            name: "backlog",
            kind: Kind::Flag,
            default: Fallback::Is("false"),
            about: "Also take what is in the feed when it is read for the first time.",
        },
        Key {
            name: "interval",
            kind: Kind::Time { least: MINUTE, most: WEEK },
            default: Fallback::Told {
                words: "as often as it brings something",
                example: "\"1 h\"",
            },
            about: "The pause between two looks, instead of one that follows the pace of the feed.",
        },
        Key {
            name: "pages",
            kind: Kind::Number { least: 1, most: 100 },
            default: Fallback::Is("5"),
            about: "How many pages of a Newznab feed are read to catch up.",
        },
        Key {
            name: "allow_private",
            kind: Kind::Flag,
            default: Fallback::Is("false"),
            about: "Whether what it leads to may be in a private network; its own address always may.",
        },
    ],
};

const TIME_OF_DAY: &str = "a time of day like \"06:30\", from \"00:00\" to \"23:59\"";
/// More than anyone can fetch, and far from where counting ends.
const MOST_QUOTA: u64 = 1 << 50;
const CREDENTIAL: &str = "a text in one line, at most 1024 bytes long";
const MIB: u64 = 1 << 20;
const SECOND: Duration = Duration::from_secs(1);
const TEN_MINUTES: Duration = Duration::from_secs(600);
const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3600);
const DAY: Duration = Duration::from_secs(86_400);
const WEEK: Duration = Duration::from_secs(7 * 24 * 3600);
