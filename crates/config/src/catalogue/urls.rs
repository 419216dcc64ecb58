//! `[urls]`

use super::{Fallback, Key, Kind, Table};

pub(crate) static URLS: Table = Table {
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
