//! NZBGet's dialect: positional parameters in, NZBGet's field names out.
//!
//! What bergamot lacks is answered with an empty value or an error, never with invented numbers.

mod append;
pub(crate) mod arguments;
mod config;
mod daemon_control;
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
mod unsupported;
mod volumes;

pub(crate) use append::{append, append_url};
pub(crate) use config::{config, save_config};
pub(crate) use daemon_control::*;
pub(crate) use disk_speed::test_disk_speed;
pub(crate) use edit::edit_queue;
pub(crate) use feeds::{fetch_feed, preview_feed, view_feed};
pub(crate) use files::list_files;
pub(crate) use groups::{list_groups, post_queue, url_queue};
pub(crate) use history::history;
pub(crate) use log::{clear_log, load_log, log, write_log};
pub(crate) use outcome::Outcome;
pub(crate) use status::{VERSION, status, sys_info, system_health, version};
pub(crate) use unsupported::*;
pub(crate) use volumes::{reset_server_volume, server_volumes};
