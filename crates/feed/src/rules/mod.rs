//! [`Rules`]: which items are accepted, in a small language close to NZBGet's feed filters. Pure.
//!
//! One rule a line: `Accept(category:tv, priority:50): show +x264 -french size:<4GB`. The first rule that
//! accepts or rejects an item decides; `docs/feeds.md` has the rest.

mod mask;
mod options;
mod parser;
mod term;

use std::sync::Arc;

use bergamot_types::UnixTime;

pub use options::{DupeMode, JobOptions};
pub use parser::{InvalidRule, InvalidRules, RuleProblem};

use crate::document::Item;
use options::OptionChange;
use term::Term;

/// The rules of one feed, in their order. A copy costs nothing.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    rules: Arc<[Rule]>,
}

/// What the rules make of an item.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Judgement {
    pub verdict: Verdict,
    /// The line of the rule that decided, from 1.
    pub rule: Option<u32>,
    pub options: JobOptions,
}

#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Verdict {
    Accepted,
    Rejected,
    /// No rule matched, and there is an accepting rule.
    #[default]
    Unmatched,
}

#[derive(Clone, Debug)]
struct Rule {
    line: u32,
    command: Command,
    changes: Vec<OptionChange>,
    condition: Condition,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Command {
    Accept,
    /// Only sets options, for rules further down.
    Options,
    Reject,
    /// Rejects what it does not match.
    Require,
}

#[derive(Clone, Debug)]
enum Condition {
    All(Vec<Condition>),
    Any(Vec<Condition>),
    Not(Box<Condition>),
    Term(Box<Term>),
}

impl Rules {
    /// Blank lines and those that begin with `#` are passed over.
    pub fn parse(text: &str) -> Result<Self, InvalidRules> {
        parser::parse(text).map(|rules| Self { rules: rules.into() })
    }

    /// Without a rule that accepts, everything is accepted that no rule rejects.
    pub fn judge(&self, item: &Item, now: UnixTime) -> Judgement {
        let mut options = JobOptions::default();
        for rule in &*self.rules {
            let matches = rule.condition.holds(item, now);
            let verdict = match (rule.command, matches) {
                (Command::Accept | Command::Options, true) => {
                    rule.changes.iter().for_each(|change| change.apply(&mut options));
                    (rule.command == Command::Accept).then_some(Verdict::Accepted)
                }
                (Command::Reject, true) | (Command::Require, false) => Some(Verdict::Rejected),
                _ => None,
            };
            if let Some(verdict) = verdict {
                return Judgement { verdict, rule: Some(rule.line), options };
            }
        }
        let any_accepts = self.rules.iter().any(|rule| rule.command == Command::Accept);
        let verdict = if any_accepts { Verdict::Unmatched } else { Verdict::Accepted };
        Judgement { verdict, rule: None, options }
    }
}

impl Condition {
    fn holds(&self, item: &Item, now: UnixTime) -> bool {
        match self {
            Self::All(parts) => parts.iter().all(|part| part.holds(item, now)),
            Self::Any(parts) => parts.iter().any(|part| part.holds(item, now)),
            Self::Not(part) => !part.holds(item, now),
            Self::Term(term) => term.holds(item, now),
        }
    }
}

#[cfg(test)]
mod tests {
    use bergamot_types::ByteCount;

    use super::*;

    const NOW: UnixTime = UnixTime(1_800_000_000);

    fn item(title: &str) -> Item {
        Item {
            guid: "g".into(),
            title: title.into(),
            size: Some(ByteCount(2_000_000_000)),
            categories: vec!["TV > HD".into(), "5040".into()],
            published: Some(UnixTime(NOW.0 - 3 * 3600)),
            season: Some(2),
            episode: Some(7),
            attributes: vec![("grabs".into(), "12".into()), ("group".into(), "alt.b.x".into())],
            ..Item::default()
        }
    }

    fn verdict(rules: &str, title: &str) -> (Verdict, Option<u32>) {
        let judgement = Rules::parse(rules).unwrap().judge(&item(title), NOW);
        (judgement.verdict, judgement.rule)
    }

    #[test]
    fn the_first_rule_that_accepts_or_rejects_decides() {
        use Verdict::{Accepted, Rejected, Unmatched};
        let title = "Some.Show.S02E07.1080p.x264-GRP";
        for (rules, expected) in [
            ("", (Accepted, None)),
            ("# nothing\n\n", (Accepted, None)),
            ("Accept: show", (Accepted, Some(1))),
            ("A: show", (Accepted, Some(1))),
            ("show", (Accepted, Some(1))),
            ("Accept: other", (Unmatched, None)),
            ("Reject: x264", (Rejected, Some(1))),
            ("Reject: x265", (Accepted, None)),
            ("Reject: x265\nAccept: *", (Accepted, Some(2))),
            ("\n# why\nReject: x264\nAccept: *", (Rejected, Some(3))),
            ("Require: 1080p\nAccept: show", (Accepted, Some(2))),
            ("Q: 720p\nAccept: show", (Rejected, Some(1))),
            ("Options(priority:5): show", (Accepted, None)),
        ] {
            assert_eq!(verdict(rules, title), expected, "{rules:?}");
        }
    }

    #[test]
    fn terms_look_at_what_they_name() {
        let title = "Some.Show.S02E07.1080p.x264-GRP";
        for (term, expected) in [
            ("some show", true),
            ("show some", true),
            ("+show -french", true),
            ("show -x264", false),
            ("sho", false),
            ("sho*", true),
            ("*ho*", true),
            ("so?e", true),
            ("s##e##", true),
            ("s#e#", false),
            ("x264-GRP", true),
            ("some.show", true),
            ("show.some", false),
            ("*me.sh*", true),
            ("title:SHOW", true),
            ("title:$^Some\\.Show\\.S\\d+E\\d+", true),
            ("$x26[45]", true),
            ("-$x26[45]", false),
            ("$^show", false),
            ("title:=some.show.s02e07.1080p.x264.grp", true),
            ("title:=some.show", false),
            ("size:>1GB", true),
            ("size:<1.5GB", false),
            ("size:>=2000MB size:<=2GB", true),
            ("age:<1d", true),
            ("age:<2h", false),
            ("age:>90m", true),
            ("season:2 episode:7", true),
            ("season:>2", false),
            ("episode:>=7", true),
            ("season:=02", true),
            ("category:hd", true),
            ("category:5040", true),
            ("category:movies", false),
            ("cat:tv.hd", true),
            ("attr-grabs:>10", true),
            ("attr-grabs:>100", false),
            ("attr-group:alt.b.x", true),
            ("attr-nothing:x", false),
            ("( french | x264 ) show", true),
            ("( french | german )", false),
            ("-( french | german ) show", true),
            ("-( french | x264 )", false),
            ("( ( some show ) | ( other ) )", true),
            ("*", true),
        ] {
            let (verdict, _) = verdict(&format!("Accept: {term}"), title);
            assert_eq!(verdict == Verdict::Accepted, expected, "{term}");
        }
    }

    #[test]
    fn what_an_item_does_not_tell_matches_no_comparison() {
        let bare = Item { title: "x".into(), ..Item::default() };
        for term in ["size:>0", "size:<1TB", "age:<9999d", "season:1", "episode:<5", "category:x"] {
            let rules = Rules::parse(&format!("Accept: {term}")).unwrap();
            assert_eq!(rules.judge(&bare, NOW).verdict, Verdict::Unmatched, "{term}");
        }
    }

    #[test]
    fn options_add_up_until_the_verdict() {
        let rules = "
            Options(category:tv, priority:10, dupescore:100): show
            Options(pause:yes): other
            Accept(priority+:5, dupekey:some show, dupekey+:-s2, dupemode:all, dupescore+:-1): *
        ";
        let judgement = Rules::parse(rules).unwrap().judge(&item("a show"), NOW);
        let expected = JobOptions {
            category: Some("tv".into()),
            priority: Some(15),
            paused: None,
            dupe_key: Some("some show-s2".into()),
            dupe_score: Some(99),
            dupe_mode: Some(DupeMode::All),
        };
        assert_eq!(judgement.options, expected);
        let short = "A(c:tv, r:-5, p:no, k:x, s:7, m:force): *";
        let judgement = Rules::parse(short).unwrap().judge(&item("a"), NOW);
        assert_eq!(judgement.options.priority, Some(-5));
        assert_eq!(judgement.options.paused, Some(false));
        assert_eq!(judgement.options.dupe_mode, Some(DupeMode::Force));
    }

    #[test]
    fn what_is_wrong_with_a_rule_is_told_with_its_line() {
        const SIZE: &str = "line 1: \"#\" is no value for size, which is compared and has a unit, as in size:>700MB";
        for (rules, expected) in [
            ("show\nAccept(: x", "line 2: the options have no closing parenthesis"),
            ("Accept(colour:red): x", "line 1: there is no option \"colour\""),
            ("Accept(priority:high): x", "line 1: \"high\" is no value for priority"),
            ("Accept(pause): x", "line 1: \"pause\" has no value"),
            ("Accept:", "line 1: it says nothing about items; to mean all of them write *"),
            ("size:>big", SIZE.replace('#', ">big").as_str()),
            ("size:>700", SIZE.replace('#', ">700").as_str()),
            ("size:700MB", SIZE.replace('#', "700MB").as_str()),
            (
                "age:>5",
                "line 1: \">5\" is no value for age, which is compared, as in age:<2d, with m, h or d",
            ),
            ("season:$x", "line 1: \"$x\" is no value for season, which is a number, as in >=2"),
            ("season>=2", "line 1: season is compared: write season:>=2"),
            (
                "Accept tv",
                "line 1: a colon has to follow Accept; for a title with that word write +Accept",
            ),
            (
                "colour:red",
                "line 1: there is no field \"colour\"; there are title, category, size, age, season, episode and attr-NAME",
            ),
            (
                "A(priority:5000): x",
                "line 1: \"5000\" is no value for priority, which is from -1000 to 1000",
            ),
            (
                "( a\nb\na )",
                "line 1: the parentheses do not match; line 3: the parentheses do not match",
            ),
            ("( a", "line 1: the parentheses do not match"),
            ("a )", "line 1: the parentheses do not match"),
            ("a | b", "line 1: | is only for parentheses, with something on both sides"),
            ("( a | )", "line 1: | is only for parentheses, with something on both sides"),
        ] {
            let said = Rules::parse(rules).unwrap_err().to_string();
            assert!(said.starts_with(expected), "{rules:?}: {said}");
        }
        let regex = Rules::parse("$(").unwrap_err().to_string();
        assert!(regex.starts_with("line 1: no regular expression: "), "{regex}");
        let nested = format!("{}x{}", "( ".repeat(100), " )".repeat(100));
        assert!(Rules::parse(&nested).is_err());
        assert!(Rules::parse(&"a\n".repeat(2_000)).is_err());
        assert!(Rules::parse(&"a ".repeat(70_000)).is_err());
    }

    #[test]
    fn no_expression_takes_more_than_time_in_proportion() {
        let rules = Rules::parse("Accept: $^(a+)+(b*a*)*(a|aa)+$").unwrap();
        let long = format!("{}!", "a".repeat(1_000));
        assert_eq!(rules.judge(&item(&long), NOW).verdict, Verdict::Unmatched);
        let masks = Rules::parse(&format!("Accept: {}", "*a".repeat(100))).unwrap();
        assert_eq!(masks.judge(&item(&"ab".repeat(500)), NOW).verdict, Verdict::Unmatched);
        let huge = Rules::parse("$(\\w{1000}){1000}").unwrap_err();
        assert!(matches!(huge.0[0].problem, RuleProblem::Regex(_)));
    }
}
