//! All runs as JSON, for those who want to look closer.

use std::fmt::Write;

use crate::outcome::{Outcome, Score};
use crate::run::Run;
use crate::target::Target;

/// A value that is written as it is built; nothing here is ever read back.
#[derive(Clone, Debug)]
enum Value {
    Array(Vec<Value>),
    Bool(bool),
    Null,
    Number(f64),
    Object(Vec<(&'static str, Value)>),
    Text(String),
}

pub(crate) fn report(outcomes: &[Outcome], targets: &[Target]) -> String {
    let report = Value::Object(vec![
        ("scenarios", Value::Array(outcomes.iter().map(of_outcome).collect())),
        ("targets", Value::Array(targets.iter().map(of_target).collect())),
    ]);
    let mut text = String::new();
    report.write(&mut text);
    text.push('\n');
    text
}

fn of_outcome(outcome: &Outcome) -> Value {
    let scenario = &outcome.scenario;
    let scores = outcome.scores.iter().map(|score| of_score(outcome, score)).collect();
    Value::Object(vec![
        ("name", Value::Text(scenario.name.into())),
        ("payload_bytes", Value::Number(scenario.shape.bytes() as f64)),
        ("files", Value::Number(scenario.shape.files as f64)),
        ("articles", Value::Number(scenario.shape.articles() as f64)),
        ("connections", Value::Number(scenario.connections as f64)),
        ("tls", Value::Bool(scenario.tls)),
        ("round_trip_ms", Value::Number(scenario.round_trip_ms as f64)),
        ("slow_disk", Value::Bool(scenario.slow_disk)),
        ("contestants", Value::Array(scores)),
    ])
}

fn of_score(outcome: &Outcome, score: &Score) -> Value {
    let failure = score.failure.clone().map_or(Value::Null, Value::Text);
    let calls = outcome.calls_per_article(score).map_or(Value::Null, Value::Number);
    Value::Object(vec![
        ("name", Value::Text(score.contestant.name())),
        ("failure", failure),
        ("system_calls_per_article", calls),
        ("runs", Value::Array(score.runs.iter().map(of_run).collect())),
    ])
}

fn of_run(run: &Run) -> Value {
    Value::Object(vec![
        ("wall_s", Value::Number(run.wall.as_secs_f64())),
        ("cpu_s", Value::Number(run.cpu.as_secs_f64())),
        ("peak_kib", Value::Number(run.peak as f64)),
        ("above_idle_kib", Value::Number(run.above_idle as f64)),
        ("written_bytes", Value::Number(run.written as f64)),
    ])
}

fn of_target(target: &Target) -> Value {
    Value::Object(vec![
        ("target", Value::Text(target.text.clone())),
        ("limit", Value::Number(target.limit)),
        ("found", Value::Number(target.found)),
        ("met", Value::Bool(target.is_met())),
    ])
}

impl Value {
    fn write(&self, out: &mut String) {
        match self {
            Self::Array(values) => write_list(out, "[]", values, |out, value| value.write(out)),
            Self::Bool(truth) => out.push_str(if *truth { "true" } else { "false" }),
            Self::Number(number) if number.is_finite() => {
                let _ = write!(out, "{number}");
            }
            Self::Null | Self::Number(_) => out.push_str("null"),
            Self::Object(fields) => write_list(out, "{}", fields, |out, (name, value)| {
                write_text(out, name);
                out.push_str(": ");
                value.write(out);
            }),
            Self::Text(text) => write_text(out, text),
        }
    }
}

fn write_list<T>(out: &mut String, ends: &str, items: &[T], write: impl Fn(&mut String, &T)) {
    out.push_str(&ends[..1]);
    for (index, item) in items.iter().enumerate() {
        out.push_str(if index == 0 { "" } else { ", " });
        write(out, item);
    }
    out.push_str(&ends[1..]);
}

fn write_text(out: &mut String, text: &str) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => out.extend(['\\', character]),
            character if character.is_control() => {
                let _ = write!(out, "\\u{:04x}", character as u32);
            }
            character => out.push(character),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_written_as_json() {
        let value = Value::Object(vec![
            ("a", Value::Array(vec![Value::Number(1.5), Value::Number(f64::NAN), Value::Null])),
            ("b", Value::Text("say \"hi\"\n".into())),
            ("c", Value::Bool(true)),
        ]);
        let mut text = String::new();
        value.write(&mut text);
        assert_eq!(text, r#"{"a": [1.5, null, null], "b": "say \"hi\"\u000a", "c": true}"#);
    }
}
