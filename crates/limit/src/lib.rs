#![forbid(unsafe_code)]

mod bucket;
mod lease;
mod limiter;
mod settings;

pub use lease::{Credit, Lease};
pub use limiter::Limiter;
pub use settings::Settings;
