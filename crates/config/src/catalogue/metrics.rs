//! `[metrics]`

use super::{Fallback, Key, Kind, Table};

pub(crate) static METRICS: Table = Table {
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
