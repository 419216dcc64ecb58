//! The control surface, from outside. One program, for each would have to be built with the whole
//! server in it.

mod daemon;
mod documentation;
mod edit_queue;
mod golden;
mod hostile_http;
mod lines;
mod long_lists;
mod metrics;
mod roles;
mod sab_access;
mod sab_golden;
mod sab_sonarr;
mod save_config;
mod slow_clients;
mod sonarr;
