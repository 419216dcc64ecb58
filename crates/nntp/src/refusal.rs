//! [`Refusal`]: what a provider means by a refusal, classified by code and text.

use crate::reply::Reply;

/// What a provider means by 400, 480, 481, 482 or 502.
///
/// The codes mean different things at different providers; their text decides.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Refusal {
    /// Used from too many addresses at once.
    AccountShared,
    /// Unknown user, wrong password, no rights.
    Login,
    /// The block is used up, or the bill is not paid.
    OutOfCredit,
    TooManyConnections,
    /// The text says nothing we know: too many connections if others of this server work, else out
    /// of order.
    Unclear,
}

impl Refusal {
    pub fn classify(reply: &Reply) -> Self {
        let text = reply.text.to_ascii_lowercase();
        let has = |words: &[&str]| words.iter().any(|word| text.contains(word));
        if has(&["simultaneous ip", "multiple ip"]) {
            Self::AccountShared
        } else if has(&["credits", "paym", "expired"])
            || has(&["exceeded"]) && has(&["download", "byte", "quota"])
        {
            Self::OutOfCredit
        } else if has(&["too many", "connections", "threads", "limit"])
            || has(&["exceed"]) && !has(&["download", "byte"])
        {
            Self::TooManyConnections
        } else if has(LOGIN_WORDS) || matches!(reply.code, 480..=483) {
            Self::Login
        } else {
            Self::Unclear
        }
    }

    /// The same for an answer to AUTHINFO, where what is unclear can only be the login.
    pub fn classify_login(reply: &Reply) -> Self {
        match Self::classify(reply) {
            Self::Unclear => Self::Login,
            clear => clear,
        }
    }

    pub fn code(self) -> &'static str {
        match self {
            Self::AccountShared => "nntp.account_shared",
            Self::Login => "nntp.login",
            Self::OutOfCredit => "nntp.quota",
            Self::TooManyConnections => "nntp.too_many_connections",
            Self::Unclear => "nntp.refused",
        }
    }
}

const LOGIN_WORDS: &[&str] = &[
    "username",
    "password",
    "invalid",
    "authen",
    "permission",
    "denied",
    "not allowed",
    "unauthor",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_decides_what_a_refusal_means() {
        for (line, meaning) in [
            ("502 Too many connections for your account", Refusal::TooManyConnections),
            ("482 too many connections", Refusal::TooManyConnections),
            ("400 connection limit reached", Refusal::TooManyConnections),
            ("481 You have exceeded your threads", Refusal::TooManyConnections),
            ("502 Simultaneous IP addresses in use", Refusal::AccountShared),
            ("481 Multiple IP addresses detected", Refusal::AccountShared),
            ("482 Your account has expired", Refusal::OutOfCredit),
            ("502 Download quota exceeded", Refusal::OutOfCredit),
            ("502 You have exceeded your byte limit", Refusal::OutOfCredit),
            ("400 please see the payment page", Refusal::OutOfCredit),
            ("481 Authentication failed", Refusal::Login),
            ("502 Access denied to your node", Refusal::Login),
            ("481 no", Refusal::Login),
            ("482 out of sequence", Refusal::Login),
            ("502 Permission denied", Refusal::Login),
            ("502 You are not allowed here", Refusal::Login),
            ("400 unauthorised use", Refusal::Login),
            ("502 Permission denied, too many connections", Refusal::TooManyConnections),
            ("502 go away", Refusal::Unclear),
            ("400 server is shutting down", Refusal::Unclear),
        ] {
            let reply = Reply::parse(line.as_bytes()).unwrap();
            assert_eq!(Refusal::classify(&reply), meaning, "{line}");
        }
    }

    #[test]
    fn an_unclear_answer_to_a_login_is_a_refused_login() {
        for (line, meaning) in [
            ("502 go away", Refusal::Login),
            ("503 try later", Refusal::Login),
            ("400 server is shutting down", Refusal::Login),
            ("502 Too many connections", Refusal::TooManyConnections),
            ("482 Your account has expired", Refusal::OutOfCredit),
            ("502 multiple IP addresses in use", Refusal::AccountShared),
        ] {
            let reply = Reply::parse(line.as_bytes()).unwrap();
            assert_eq!(Refusal::classify_login(&reply), meaning, "{line}");
        }
    }
}
