pub(crate) mod call;
pub(crate) mod handle;
pub(crate) mod listen;
pub(crate) mod runtime_settings;
