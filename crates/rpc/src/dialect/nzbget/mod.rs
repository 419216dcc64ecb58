//! The handlers of NZBGet's methods: places in, its field names out.
//!
//! What bergamot does not have is answered with nothing or with an error that says so, never with
//! numbers that were made up.

mod absent;
mod append;
pub(crate) mod arguments;
mod config;
mod disk_speed;
mod edit;
mod feeds;
mod fields;
mod files;
mod groups;
mod history;
mod job_fields;
mod log;
mod options;
mod outcome;
mod status;
mod steering;
mod volumes;

pub(crate) use absent::*;
pub(crate) use append::{append, append_url};
pub(crate) use config::{config, save_config};
pub(crate) use disk_speed::test_disk_speed;
pub(crate) use edit::edit_queue;
pub(crate) use feeds::{fetch_feed, preview_feed, view_feed};
pub(crate) use files::list_files;
pub(crate) use groups::{list_groups, post_queue, url_queue};
pub(crate) use history::history;
pub(crate) use log::{clear_log, load_log, log, write_log};
pub(crate) use outcome::Outcome;
pub(crate) use status::{VERSION, status, sys_info, system_health, version};
pub(crate) use steering::*;
pub(crate) use volumes::{reset_server_volume, server_volumes};
