//! The texts of what was tried for an article, and of the errors of servers. Pure.

use bergamot_engine::{Encounter, History, Trouble, Verdict};
use bergamot_types::ServerId;

/// The verdict on an article that is lost, in one line.
pub(crate) fn loss<'a>(verdict: &Verdict, name: impl Fn(ServerId) -> &'a str) -> String {
    let (what, history) = match verdict {
        Verdict::Damaged { history, kept: true } => {
            ("no server has a good copy of this article, the best one is kept", history)
        }
        Verdict::Damaged { history, kept: false } => {
            ("no server has a good copy of this article", history)
        }
        Verdict::Missing { history } => ("no server has this article", history),
        // Such an article is not lost.
        Verdict::Got { .. } | Verdict::Waiting { .. } => return String::new(),
    };
    format!("{what}: {}", tried(history, name))
}

/// `missing on a, b; damaged twice on c`.
fn tried<'a>(history: &History, name: impl Fn(ServerId) -> &'a str) -> String {
    let mut all: Vec<_> = history.iter().map(|(server, what)| (what, server)).collect();
    all.sort_unstable();
    let mut phrases: Vec<String> = Vec::new();
    let mut last = None;
    for (what, server) in all {
        match phrases.last_mut() {
            Some(phrase) if last == Some(what) => *phrase += &format!(", {}", name(server)),
            _ => phrases.push(format!("{} {}", happened(what), name(server))),
        }
        last = Some(what);
    }
    phrases.join("; ")
}

/// Up to where the servers are named.
fn happened(what: Encounter) -> String {
    match what {
        Encounter::Broke(count) => format!("broke the connection {} on", times(count)),
        Encounter::Damaged(count) => format!("damaged {} on", times(count)),
        Encounter::Excused(trouble) => format!("not asked, {}:", trouble_text(trouble)),
        Encounter::Missing => "missing on".to_owned(),
        Encounter::MirrorLacks => "missing on a mirror of".to_owned(),
        Encounter::Refused(count) => format!("refused {} on", times(count)),
        Encounter::TooOld => "too old for".to_owned(),
        Encounter::UsedUp => "not asked, its quota is used up:".to_owned(),
    }
}

fn times(count: u8) -> String {
    match count {
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        _ => format!("{count} times"),
    }
}

pub(crate) fn trouble_text(trouble: Trouble) -> &'static str {
    match trouble {
        Trouble::AccountShared => "the account is used from elsewhere",
        Trouble::Broken | Trouble::OutOfStep => "connections keep breaking",
        Trouble::Certificate => "not trusted",
        Trouble::Closed => "closed",
        Trouble::Login => "the login was refused",
        Trouble::OutOfCredit => "the account is used up",
        Trouble::OutOfOrder => "it can be reached, but does not deliver articles",
        Trouble::Refused => "refused",
        Trouble::TooManyConnections => "no connection is free",
        Trouble::Unavailable => "unavailable for the time being",
        Trouble::Unreachable => "unreachable",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; 5] = ["a", "b", "c", "d", "e"];

    fn told(encounters: &[(u16, Encounter)]) -> String {
        let history = encounters.iter().map(|&(server, what)| (ServerId(server), what)).collect();
        tried(&history, |server| NAMES[usize::from(server.0)])
    }

    #[test]
    fn servers_with_the_same_story_are_told_of_together() {
        use Encounter::{Broke, Damaged, Excused, MirrorLacks, Missing, Refused, TooOld};
        for (encounters, words) in [
            (vec![], ""),
            (vec![(0, Missing)], "missing on a"),
            (
                vec![(2, Damaged(2)), (0, Missing), (1, Missing)],
                "missing on a, b; damaged twice on c",
            ),
            (vec![(0, Damaged(1)), (1, Damaged(2))], "damaged once on a; damaged twice on b"),
            (
                vec![(0, Broke(4)), (0, Missing), (3, TooOld), (4, MirrorLacks)],
                "missing on a; missing on a mirror of e; broke the connection 4 times on a; too old for d",
            ),
            (
                vec![(1, Refused(6)), (2, Excused(Trouble::Login))],
                "refused 6 times on b; not asked, the login was refused: c",
            ),
        ] {
            assert_eq!(told(&encounters), words);
        }
    }

    #[test]
    fn a_loss_says_what_there_is() {
        let history: History = [(ServerId(1), Encounter::Damaged(2))].into_iter().collect();
        let name = |_| "b";
        for (verdict, words) in [
            (
                Verdict::Damaged { history: history.clone(), kept: true },
                "no server has a good copy of this article, the best one is kept: damaged twice on b",
            ),
            (
                Verdict::Damaged { history: history.clone(), kept: false },
                "no server has a good copy of this article: damaged twice on b",
            ),
            (Verdict::Missing { history }, "no server has this article: damaged twice on b"),
        ] {
            assert_eq!(loss(&verdict, name), words);
        }
    }
}
