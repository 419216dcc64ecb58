//! [`SabError`]: why a request has no result, in SABnzbd's words.

use bergamot_api::Refusal;
use thiserror::Error;

use crate::call::fault::Fault;

/// Clients compare some of these texts, so the first ones are SABnzbd's own, to the letter.
#[derive(Debug, Error)]
pub(super) enum SabError {
    #[error("API Key Incorrect")]
    KeyIncorrect,
    #[error("API Key Required")]
    KeyRequired,
    #[error("expects integer value")]
    ExpectsInteger,
    #[error("expects one parameter")]
    ExpectsOne,
    #[error("expects two parameters")]
    ExpectsTwo,
    #[error("file does not exist")]
    NoSuchFile,
    #[error("item does not exist")]
    NoSuchItem,
    #[error("no file given")]
    NoFile,
    #[error("not implemented")]
    NotImplemented,
    #[error("{0}")]
    Fault(Fault),
}

impl From<Fault> for SabError {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Refused(refusal) => refusal.into(),
            fault => Self::Fault(fault),
        }
    }
}

impl From<Refusal> for SabError {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::NoSuchJob(_) => Self::NoSuchItem,
            refusal => Self::Fault(Fault::Refused(refusal)),
        }
    }
}
