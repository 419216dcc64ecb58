//! [`Term`]: one condition of a rule. Pure.

use std::cmp::Ordering;

use bergamot_types::{ByteCount, UnixTime};
use regex_automata::nfa::thompson;
use regex_automata::nfa::thompson::pikevm::PikeVM;
use regex_automata::util::syntax;

use super::mask::{Mask, normalised};
use super::parser::RuleProblem;
use crate::document::Item;

#[derive(Clone, Debug)]
pub(super) struct Term {
    field: Field,
    test: Test,
}

#[derive(Clone, Debug)]
enum Field {
    Age,
    Attribute(Box<str>),
    Category,
    Episode,
    Season,
    Size,
    Title,
}

#[derive(Clone, Debug)]
enum Test {
    /// Of the whole text, as words.
    Equal(String),
    /// Also of a text that is a number.
    Number(Comparison, u64),
    Regex(Box<PikeVM>),
    Words(Mask),
}

#[derive(Clone, Copy, Debug)]
enum Comparison {
    Above,
    AtLeast,
    AtMost,
    Below,
    Equal,
}

impl Term {
    /// `word`, `field:word`, `field:>number`, `field:$regex`
    pub(super) fn parse(text: &str) -> Result<Self, RuleProblem> {
        if let Some(expression) = text.strip_prefix('$') {
            return Ok(Self { field: Field::Title, test: Test::Regex(regex(expression)?) });
        }
        let Some((name, value)) = text.split_once(':') else {
            refuse_missing_colon(text)?;
            return Ok(Self { field: Field::Title, test: text_test(text)? });
        };
        let name = name.to_ascii_lowercase();
        let Some(field) = Field::named(&name) else { return Err(RuleProblem::UnknownField(name)) };
        let test = field.test(value)?;
        Ok(Self { field, test })
    }

    pub(super) fn holds(&self, item: &Item, now: UnixTime) -> bool {
        let number = |number: Option<u64>| number.is_some_and(|number| self.test.compares(number));
        match &self.field {
            Field::Age => number(item.published.map(|time| seconds_between(time, now))),
            Field::Attribute(name) => {
                item.attribute(name).is_some_and(|value| self.test.matches(value))
            }
            Field::Category => item.categories.iter().any(|name| self.test.matches(name)),
            Field::Episode => number(item.episode.map(u64::from)),
            Field::Season => number(item.season.map(u64::from)),
            Field::Size => number(item.size.map(|size| size.0)),
            Field::Title => self.test.matches(&item.title),
        }
    }
}

impl Field {
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "age" => Self::Age,
            "category" | "cat" => Self::Category,
            "episode" => Self::Episode,
            "season" => Self::Season,
            "size" => Self::Size,
            "title" => Self::Title,
            other => {
                let attribute = other.strip_prefix("attr-").filter(|name| !name.is_empty())?;
                Self::Attribute(attribute.into())
            }
        })
    }

    fn test(&self, value: &str) -> Result<Test, RuleProblem> {
        let (comparison, number) = comparison(value);
        let numbered = |of, allowed, comparison: Option<Comparison>, parsed: Option<u64>| {
            let invalid = || RuleProblem::Value { value: value.into(), of, allowed };
            let (comparison, number) = comparison.zip(parsed).ok_or_else(invalid)?;
            Ok(Test::Number(comparison, number))
        };
        let or_equal = comparison.or(Some(Comparison::Equal));
        match self {
            // Nothing is just so old or so large.
            Self::Age => numbered("age", AGES, comparison, age(number)),
            Self::Size => numbered("size", SIZES, comparison, size(number)),
            Self::Episode => numbered("episode", NUMBERS, or_equal, plain_number(number)),
            Self::Season => numbered("season", NUMBERS, or_equal, plain_number(number)),
            Self::Attribute(_) | Self::Category | Self::Title => text_test(value),
        }
    }
}

impl Comparison {
    fn sign(self) -> &'static str {
        match self {
            Self::Above => ">",
            Self::AtLeast => ">=",
            Self::AtMost => "<=",
            Self::Below => "<",
            Self::Equal => "=",
        }
    }
}

impl Test {
    fn matches(&self, text: &str) -> bool {
        match self {
            Self::Equal(expected) => normalised(text) == *expected,
            Self::Number(..) => text.parse().is_ok_and(|number| self.compares(number)),
            Self::Regex(regex) => regex.is_match(&mut regex.create_cache(), text),
            Self::Words(mask) => mask.matches(text),
        }
    }

    fn compares(&self, number: u64) -> bool {
        let Self::Number(comparison, bound) = self else { return false };
        let order = number.cmp(bound);
        match comparison {
            Comparison::Above => order == Ordering::Greater,
            Comparison::AtLeast => order != Ordering::Less,
            Comparison::AtMost => order != Ordering::Greater,
            Comparison::Below => order == Ordering::Less,
            Comparison::Equal => order == Ordering::Equal,
        }
    }
}

fn text_test(value: &str) -> Result<Test, RuleProblem> {
    if let Some(expression) = value.strip_prefix('$') {
        return Ok(Test::Regex(regex(expression)?));
    }
    match comparison(value) {
        (Some(Comparison::Equal), text) => Ok(Test::Equal(normalised(text))),
        (Some(comparison), number) => match plain_number(number) {
            Some(number) => Ok(Test::Number(comparison, number)),
            None => {
                let (value, of) = (number.into(), "a comparison");
                Err(RuleProblem::Value { value, of, allowed: NUMBERS })
            }
        },
        (None, "") => Err(RuleProblem::Empty),
        (None, text) => Ok(Test::Words(Mask::new(text))),
    }
}

fn comparison(text: &str) -> (Option<Comparison>, &str) {
    // The longer signs first.
    let all = [
        Comparison::AtLeast,
        Comparison::AtMost,
        Comparison::Above,
        Comparison::Below,
        Comparison::Equal,
    ];
    let mut found = all.into_iter().filter_map(|it| Some((it, text.strip_prefix(it.sign())?)));
    found.next().map_or((None, text), |(comparison, rest)| (Some(comparison), rest))
}

/// Byte by byte and in any case of ASCII, so that no table of Unicode is needed; a Pike machine, so
/// that time grows with the text and never with what the expression could be made of.
fn regex(expression: &str) -> Result<Box<PikeVM>, RuleProblem> {
    let syntax = syntax::Config::new().unicode(false).utf8(false).case_insensitive(true);
    let machine = PikeVM::builder()
        .syntax(syntax.nest_limit(DEEPEST_REGEX))
        .thompson(thompson::Config::new().utf8(false).nfa_size_limit(Some(LARGEST_REGEX)))
        .build(expression);
    machine.map(Box::new).map_err(|error| RuleProblem::Regex(error.to_string()))
}

/// `season>=2` would look for a title.
fn refuse_missing_colon(text: &str) -> Result<(), RuleProblem> {
    let (name, rest) = text.split_at(text.find(['<', '>', '=']).unwrap_or(text.len()));
    let (Some(comparison), rest) = comparison(rest) else { return Ok(()) };
    let name = name.to_ascii_lowercase();
    if Field::named(&name).is_none() {
        return Ok(());
    }
    let (operator, rest) = (comparison.sign().to_owned(), rest.to_owned());
    Err(RuleProblem::FieldWithoutColon { name, operator, rest })
}

/// A bare number would be one of bytes, which is never meant.
fn size(text: &str) -> Option<u64> {
    let has_unit = text == "0" || text.ends_with(|last: char| last.is_ascii_alphabetic());
    Some(text.parse::<ByteCount>().ok().filter(|_| has_unit)?.0)
}

fn plain_number(text: &str) -> Option<u64> {
    text.parse().ok()
}

/// `90m`, `6h`, `2d`, in seconds.
fn age(text: &str) -> Option<u64> {
    let (number, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let seconds = match unit {
        "m" => 60,
        "h" => 3_600,
        "d" => 86_400,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(seconds)
}

fn seconds_between(earlier: UnixTime, later: UnixTime) -> u64 {
    later.0.saturating_sub(earlier.0).max(0).unsigned_abs()
}

const AGES: &str = "compared, as in age:<2d, with m, h or d";
const NUMBERS: &str = "a number, as in >=2";
const SIZES: &str = "compared and has a unit, as in size:>700MB";
const LARGEST_REGEX: usize = 256 << 10;
const DEEPEST_REGEX: u32 = 32;
