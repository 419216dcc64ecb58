//! What strangers can reach, each as a function of bytes that must not panic.
//!
//! Where there is more to hold than that, it is asserted: what was cut anywhere gives the same, what was
//! read and written is read as the same again.

mod fetched;
mod news;
mod state;
mod talk;

pub(crate) type Target = fn(&[u8]);

pub(crate) const TARGETS: &[(&str, Target)] = &[
    ("feed", fetched::feed),
    ("feed_rules", fetched::feed_rules),
    ("http_headers", fetched::http_headers),
    ("import", state::import),
    ("nntp", news::nntp),
    ("nzb", fetched::nzb),
    ("overview", news::overview),
    ("rpc_form", talk::form),
    ("rpc_json", talk::json),
    ("rpc_xml", talk::xml),
    ("store", state::store),
    ("url", fetched::url),
    ("yenc", news::yenc),
    ("zip", fetched::zip),
];
