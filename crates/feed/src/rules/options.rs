//! [`JobOptions`]: what a rule sets on the job that an item becomes.

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use super::parser::RuleProblem;

/// What is not set is left to the feed and its category.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default)]
pub struct JobOptions {
    pub category: Option<Box<str>>,
    pub priority: Option<i32>,
    pub paused: Option<bool>,
    pub dupe_key: Option<Box<str>>,
    pub dupe_score: Option<i32>,
    pub dupe_mode: Option<DupeMode>,
}

#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum DupeMode {
    All,
    Force,
    Score,
}

#[derive(Clone, Debug)]
pub(super) enum OptionChange {
    AddDupeScore(i32),
    AddPriority(i32),
    AppendDupeKey(Box<str>),
    SetCategory(Box<str>),
    SetDupeKey(Box<str>),
    SetDupeMode(DupeMode),
    SetDupeScore(i32),
    SetPaused(bool),
    SetPriority(i32),
}

impl OptionChange {
    /// One of `category:tv`, `priority+:5`, and so on.
    pub(super) fn parse(text: &str) -> Result<Self, RuleProblem> {
        let (name, value) =
            text.split_once(':').ok_or_else(|| RuleProblem::OptionWithoutValue(text.into()))?;
        let (name, value) = (name.trim().to_ascii_lowercase(), value.trim());
        let invalid = |of, allowed| RuleProblem::Value { value: value.into(), of, allowed };
        let number = |of| value.parse::<i32>().map_err(|_| invalid(of, "a whole number"));
        let priority = || {
            let number = number("priority")?;
            let is_one = PRIORITIES.contains(&number);
            is_one.then_some(number).ok_or_else(|| invalid("priority", "from -1000 to 1000"))
        };
        Ok(match name.as_str() {
            "category" | "cat" | "c" => Self::SetCategory(value.into()),
            "dupekey" | "k" => Self::SetDupeKey(value.into()),
            "dupekey+" | "k+" => Self::AppendDupeKey(value.into()),
            "dupemode" | "m" => Self::SetDupeMode(
                dupe_mode(value).ok_or_else(|| invalid("dupemode", "score, all or force"))?,
            ),
            "dupescore" | "s" => Self::SetDupeScore(number("dupescore")?),
            "dupescore+" | "s+" => Self::AddDupeScore(number("dupescore")?),
            "pause" | "p" => {
                Self::SetPaused(yes_or_no(value).ok_or_else(|| invalid("pause", "yes or no"))?)
            }
            "priority" | "pr" | "r" => Self::SetPriority(priority()?),
            "priority+" | "pr+" | "r+" => Self::AddPriority(priority()?),
            _ => return Err(RuleProblem::UnknownOption(name)),
        })
    }

    pub(super) fn apply(&self, options: &mut JobOptions) {
        match self {
            Self::AddDupeScore(more) => add(&mut options.dupe_score, *more),
            Self::AddPriority(more) => add(&mut options.priority, *more),
            Self::AppendDupeKey(more) => {
                let known = options.dupe_key.as_deref().unwrap_or_default();
                options.dupe_key = Some(format!("{known}{more}").into());
            }
            Self::SetCategory(category) => options.category = Some(category.clone()),
            Self::SetDupeKey(key) => options.dupe_key = Some(key.clone()),
            Self::SetDupeMode(mode) => options.dupe_mode = Some(*mode),
            Self::SetDupeScore(score) => options.dupe_score = Some(*score),
            Self::SetPaused(paused) => options.paused = Some(*paused),
            Self::SetPriority(priority) => options.priority = Some(*priority),
        }
    }
}

/// As in the configuration.
const PRIORITIES: RangeInclusive<i32> = -1000..=1000;

fn add(number: &mut Option<i32>, more: i32) {
    *number = Some(number.unwrap_or(0).saturating_add(more));
}

fn dupe_mode(text: &str) -> Option<DupeMode> {
    match text.to_ascii_lowercase().as_str() {
        "all" => Some(DupeMode::All),
        "force" => Some(DupeMode::Force),
        "score" => Some(DupeMode::Score),
        _ => None,
    }
}

fn yes_or_no(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "yes" | "y" | "true" => Some(true),
        "no" | "n" | "false" => Some(false),
        _ => None,
    }
}
