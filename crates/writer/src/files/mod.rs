//! Files and directories of jobs, reached from the handle of a directory and through no symbolic link.

pub(crate) mod folder;
pub(crate) mod job_dir;
pub(crate) mod kernel;
pub(crate) mod modes;
pub(crate) mod moving;
pub(crate) mod names;
pub(crate) mod part_file;
pub(crate) mod root;
pub(crate) mod tree;
