//! [`Failure`]: why a command failed, with its exit code and message.

use std::io;

use bergamot_rpc::ClientError;
use bergamot_types::Shown;
use thiserror::Error;

use crate::exit::Exit;

#[derive(Debug, Error)]
pub(crate) enum Failure {
    #[error(transparent)]
    Asking(#[from] ClientError),
    /// Their names.
    #[error("login refused by the server of: {}; change the settings of the feed", .0.join(", "))]
    FeedsRefused(Vec<String>),
    /// It ended while we listened.
    #[error("the daemon closed the connection")]
    Gone,
    #[error(transparent)]
    Local(#[from] anyhow::Error),
    #[error("the daemon's response is not valid: {0}")]
    NotUnderstood(#[from] serde_json::Error),
    #[error("cannot write to standard output: {0}")]
    Output(#[from] io::Error),
    /// The failure was reported already.
    #[error("the command failed")]
    ImportOutput(Exit),
    #[error("cannot connect to a daemon. {0}")]
    Unreachable(String),
    #[error("{0}")]
    Usage(String),
}

impl Failure {
    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::Asking(error) => of_client(error),
            // The reader closed the pipe, as in `bergamot list | head`.
            Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => Exit::Ok,
            Self::FeedsRefused(_) => Exit::FeedRefused,
            Self::Gone | Self::Unreachable(_) => Exit::Unreachable,
            Self::ImportOutput(exit) => *exit,
            Self::Usage(_) => Exit::Usage,
            Self::Local(_) | Self::NotUnderstood(_) | Self::Output(_) => Exit::Other,
        }
    }

    /// The message, if it is not reported yet. Control characters from outside are escaped.
    pub(crate) fn message(&self) -> Option<String> {
        if self.exit() == Exit::Ok || matches!(self, Self::ImportOutput(_)) {
            return None;
        }
        let text = match self {
            Self::Local(error) => format!("{error:#}"),
            other => other.to_string(),
        };
        let lines: Vec<_> = text.lines().map(|line| Shown(line).to_string()).collect();
        Some(lines.join("\n"))
    }
}

fn of_client(error: &ClientError) -> Exit {
    match error {
        ClientError::Refused { code, .. } => Exit::of_error(code),
        ClientError::LoginRefused => Exit::NotAllowed,
        ClientError::Unreachable { source, .. } => match source.kind() {
            io::ErrorKind::PermissionDenied => Exit::NotAllowed,
            _ => Exit::Unreachable,
        },
        ClientError::Broken(_) => Exit::Unreachable,
        ClientError::Status(429 | 503) => Exit::Temporary,
        ClientError::Status(401 | 403) => Exit::NotAllowed,
        ClientError::NotUnderstood | ClientError::Status(_) => Exit::Other,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn a_reader_that_left_is_no_failure() {
        let left = Failure::from(io::Error::from(io::ErrorKind::BrokenPipe));
        assert_eq!((left.exit(), left.message()), (Exit::Ok, None));
    }

    #[test]
    fn what_the_daemon_says_is_shown_without_its_control_characters() {
        let refused = ClientError::Refused {
            code: "job.unknown".to_owned(),
            number: -32004,
            message: "there is no job 7\u{1b}[2J".to_owned(),
            data: Value::Null,
        };
        let failure = Failure::from(refused);
        assert_eq!(failure.exit(), Exit::NoSuchJob);
        assert_eq!(failure.message().as_deref(), Some("there is no job 7\\u{1b}[2J"));
    }
}
