pub(crate) mod progress;
pub(crate) mod publish;
pub(crate) mod terminal;
