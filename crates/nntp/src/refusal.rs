//! Refusals in providers' words.

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
        } else if has(&["username", "password", "invalid", "authen", "access denied"])
            || matches!(reply.code, 480..=483)
        {
            Self::Login
        } else {
            Self::Unclear
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
            ("502 go away", Refusal::Unclear),
            ("400 server is shutting down", Refusal::Unclear),
        ] {
            let reply = Reply::parse(line.as_bytes()).unwrap();
            assert_eq!(Refusal::classify(&reply), meaning, "{line}");
        }
    }
}
