//! Parses the text of rules, line by line. Pure.

use std::fmt;

use thiserror::Error;

use super::options::OptionChange;
use super::term::Term;
use super::{Command, Condition, Rule};

/// All that is wrong with a text of rules.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct InvalidRules(pub Vec<InvalidRule>);

impl std::error::Error for InvalidRules {}

impl fmt::Display for InvalidRules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, rule) in self.0.iter().enumerate() {
            write!(f, "{}{rule}", if number > 0 { "; " } else { "" })?;
        }
        Ok(())
    }
}

/// What is wrong with a rule, and where.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
#[error("line {line}: {problem}")]
pub struct InvalidRule {
    pub line: u32,
    pub problem: RuleProblem,
}

#[derive(Clone, Debug, Eq, Error, PartialEq)]
pub enum RuleProblem {
    #[error("| is only for parentheses, with something on both sides")]
    Alternative,
    #[error("it says nothing about items; to mean all of them write *")]
    Empty,
    #[error("{name} is compared: write {name}:{operator}{rest}")]
    FieldWithoutColon { name: String, operator: String, rest: String },
    #[error("a colon has to follow {0}; for a title with that word write +{0}")]
    NoColon(String),
    #[error("the parentheses do not match")]
    Parentheses,
    #[error("{0:?} has no value")]
    OptionWithoutValue(String),
    #[error("no regular expression: {0}")]
    Regex(String),
    #[error("more than {MOST_BYTES} bytes or {MOST_RULES} lines of rules")]
    TooMuch,
    #[error("the options have no closing parenthesis")]
    UnclosedOptions,
    #[error(
        "there is no field {0:?}; there are title, category, size, age, season, episode and attr-NAME"
    )]
    UnknownField(String),
    #[error(
        "there is no option {0:?}; there are category, priority, pause, dupekey, dupescore and dupemode"
    )]
    UnknownOption(String),
    #[error("{value:?} is no value for {of}, which is {allowed}")]
    Value { value: String, of: &'static str, allowed: &'static str },
}

pub(super) fn parse(text: &str) -> Result<Vec<Rule>, InvalidRules> {
    let (mut rules, mut invalid) = (Vec::new(), Vec::new());
    for (number, line) in (1..).zip(text.lines()) {
        let mut at = |problem| invalid.push(InvalidRule { line: number, problem });
        if text.len() > MOST_BYTES || number as usize > MOST_RULES {
            at(RuleProblem::TooMuch);
            break;
        }
        let line = line.trim();
        if !line.is_empty() && !line.starts_with('#') {
            rule(number, line).map_or_else(&mut at, |rule| rules.push(rule));
        }
    }
    if invalid.is_empty() { Ok(rules) } else { Err(InvalidRules(invalid)) }
}

fn rule(line: u32, text: &str) -> Result<Rule, RuleProblem> {
    let (command, rest) = command(text)?;
    let (changes, rest) = match rest.strip_prefix('(') {
        Some(rest) if command.is_some() => {
            let (options, rest) = rest.split_once(')').ok_or(RuleProblem::UnclosedOptions)?;
            (changes(options)?, rest.trim_start())
        }
        _ => (Vec::new(), rest),
    };
    let rest = if command.is_some() { rest.strip_prefix(':').unwrap_or(rest) } else { rest };
    let mut words = rest.split_whitespace().peekable();
    let condition = all(&mut words, 0)?;
    if words.next().is_some() {
        return Err(RuleProblem::Parentheses);
    }
    Ok(Rule { line, command: command.unwrap_or(Command::Accept), changes, condition })
}

/// The command, if the line begins with one, and what follows its name.
fn command(text: &str) -> Result<(Option<Command>, &str), RuleProblem> {
    let end = text.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (name, rest) = (&text[..end], text[end..].trim_start());
    let command = match name.to_ascii_lowercase().as_str() {
        "accept" | "a" => Command::Accept,
        "options" | "o" => Command::Options,
        "reject" | "r" => Command::Reject,
        "require" | "q" => Command::Require,
        _ => return Ok((None, text)),
    };
    // A title may begin with one of these letters; a command is followed by options or a colon.
    match rest.starts_with(['(', ':']) {
        true => Ok((Some(command), rest)),
        false if name.len() > 1 && text[end..].starts_with(char::is_whitespace) => {
            Err(RuleProblem::NoColon(name.to_owned()))
        }
        false => Ok((None, text)),
    }
}

fn changes(options: &str) -> Result<Vec<OptionChange>, RuleProblem> {
    let options = options.split(',').map(str::trim).filter(|option| !option.is_empty());
    options.map(OptionChange::parse).collect()
}

type Words<'a> = std::iter::Peekable<std::str::SplitWhitespace<'a>>;

/// Terms up to the end, or to what ends a group.
fn all(words: &mut Words<'_>, depth: usize) -> Result<Condition, RuleProblem> {
    if depth > DEEPEST {
        return Err(RuleProblem::Parentheses);
    }
    let mut parts = Vec::new();
    while let Some(word) = words.next_if(|word| !matches!(*word, ")" | "|")) {
        parts.push(match word {
            "(" | "+(" => group(words, depth)?,
            "-(" => Condition::Not(Box::new(group(words, depth)?)),
            word => term(word)?,
        });
    }
    match (words.peek(), depth, parts.is_empty()) {
        (Some(&"|"), 0, _) | (_, 1.., true) => Err(RuleProblem::Alternative),
        (Some(_), 0, _) => Err(RuleProblem::Parentheses),
        (None, 0, true) => Err(RuleProblem::Empty),
        _ => Ok(Condition::All(parts)),
    }
}

fn group(words: &mut Words<'_>, depth: usize) -> Result<Condition, RuleProblem> {
    let mut choices = vec![all(words, depth + 1)?];
    while words.next_if_eq(&"|").is_some() {
        choices.push(all(words, depth + 1)?);
    }
    words.next_if_eq(&")").ok_or(RuleProblem::Parentheses)?;
    Ok(Condition::Any(choices))
}

fn term(word: &str) -> Result<Condition, RuleProblem> {
    match word.strip_prefix('-').filter(|rest| !rest.is_empty()) {
        Some(rest) => Ok(Condition::Not(Box::new(Condition::Term(Box::new(Term::parse(rest)?))))),
        None => {
            let term = Term::parse(word.strip_prefix('+').unwrap_or(word))?;
            Ok(Condition::Term(Box::new(term)))
        }
    }
}

const MOST_BYTES: usize = 64 << 10;
const MOST_RULES: usize = 1_000;
const DEEPEST: usize = 16;
