//! [`Exit`]: the exit codes of the program.

use std::process::ExitCode;

/// By cause, so that scripts can act on it; the numbers never change.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[repr(u8)]
pub enum Exit {
    Ok = 0,
    Other = 1,
    Usage = 2,
    Unreachable = 3,
    NoSuchJob = 4,
    Temporary = 5,
    NotAllowed = 6,
    JobFailed = 7,
    Incomplete = 8,
    DiskFull = 9,
    PasswordNeeded = 10,
    FeedRefused = 11,
    TimedOut = 124,
}

impl Exit {
    /// For the code of an error of the daemon.
    pub(crate) fn of_error(code: &str) -> Self {
        match code {
            "job.unknown" => Self::NoSuchJob,
            // A daemon that is stopping counts as not running.
            "daemon.stopping" => Self::Unreachable,
            "daemon.unavailable" => Self::Temporary,
            "rpc.access_denied" | "server.login" => Self::NotAllowed,
            "rpc.invalid_params" | "rpc.invalid_value" | "rpc.unknown_method" | "url.forbidden" => {
                Self::Usage
            }
            _ => Self::Other,
        }
    }

    /// For the cause of which a job failed.
    pub(crate) fn of_cause(cause: &str) -> Self {
        match cause {
            "damaged" | "health" | "incomplete" | "repair" | "taken-down" => Self::Incomplete,
            "disk" => Self::DiskFull,
            "password" => Self::PasswordNeeded,
            "propagating" | "servers-down" => Self::Temporary,
            _ => Self::JobFailed,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        (exit as u8).into()
    }
}

/// For the reference. The last one is what shells make of a signal.
#[cfg(test)]
pub(crate) const MEANINGS: &[(u8, &str)] = &[
    (Exit::Ok as u8, "success"),
    (Exit::Other as u8, "any other error"),
    (Exit::Usage as u8, "the command line, or a value in it, is not valid"),
    (Exit::Unreachable as u8, "no daemon can be reached, or it stopped"),
    (Exit::NoSuchJob as u8, "there is no such job"),
    (Exit::Temporary as u8, "a transient error; try again later"),
    (Exit::NotAllowed as u8, "the login is refused, or does not have that right"),
    (Exit::JobFailed as u8, "the job failed or was deleted (`wait`, `add`)"),
    (Exit::Incomplete as u8, "the job is incomplete and cannot be repaired (`wait`, `add`)"),
    (Exit::DiskFull as u8, "the job failed because of the disk (`wait`, `add`)"),
    (Exit::PasswordNeeded as u8, "the job needs a password (`wait`, `add`)"),
    (Exit::FeedRefused as u8, "the server of a feed refuses the login (`feeds run`)"),
    (Exit::TimedOut as u8, "the time of `--timeout` has passed"),
    (130, "interrupted by Ctrl-C"),
];

#[cfg(test)]
mod tests {
    use bergamot_queue::Cause;

    use super::*;

    #[test]
    fn every_cause_has_its_exit() {
        let exits: Vec<_> = Cause::ALL
            .iter()
            .map(|cause| {
                // As the daemon writes it.
                let word = serde_json::to_value(cause).unwrap().as_str().unwrap().to_owned();
                let exit = Exit::of_cause(&word) as u8;
                (word, exit)
            })
            .collect();
        let expected = [
            ("crashed", 7),
            ("damaged", 8),
            ("disk", 9),
            ("fetch", 7),
            ("health", 8),
            ("incomplete", 8),
            ("missing", 7),
            ("move", 7),
            ("password", 10),
            ("propagating", 5),
            ("refused", 7),
            ("repair", 8),
            ("servers-down", 5),
            ("state-damaged", 7),
            ("taken-down", 8),
            ("unpack", 7),
        ];
        assert_eq!(exits, expected.map(|(word, exit)| (word.to_owned(), exit)));
    }

    #[test]
    fn errors_of_the_daemon_are_told_apart() {
        for (code, exit) in [
            ("job.unknown", 4),
            ("daemon.stopping", 3),
            ("daemon.unavailable", 5),
            ("rpc.access_denied", 6),
            ("server.login", 6),
            ("rpc.unknown_method", 2),
            ("job.impossible", 1),
            ("", 1),
        ] {
            assert_eq!(Exit::of_error(code) as u8, exit, "{code}");
        }
    }
}
