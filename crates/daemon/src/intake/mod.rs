//! New jobs: from the watch folder, from uploads, from URLs and from local files.

pub(crate) mod local_file;
pub(crate) mod new_job;
pub(crate) mod nzb_to_job;
pub(crate) mod url_client;
pub(crate) mod url_fetch;
pub(crate) mod url_response;
pub(crate) mod watch_folder;
pub(crate) mod watch_thread;
