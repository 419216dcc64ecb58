//! [`Finding`]: the result of one check of `doctor`, which runs on the calling thread before or beside a daemon.
//!
//! - `directories`: what can be done in each, and between them
//! - `machine`: user, clock, network route, processor, memory, open files
//! - `servers`: DNS, connections, login, TLS, clocks and round trips
//!
//! Every check performs the real operation, with small hidden files that are removed again; nothing is derived from
//! permission bits, and nothing else is changed.

mod directories;
mod machine;
mod servers;

use std::fmt::Write;

use bergamot_types::Shown;
use serde::Serialize;

use bergamot_config::Config;

#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub(crate) struct Finding {
    about: String,
    grade: Grade,
    fact: String,
    remedy: Option<String>,
}

#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Grade {
    Ok,
    Warning,
    Problem,
}

impl Finding {
    fn good(about: impl Into<String>, fact: impl Into<String>) -> Self {
        Self { about: about.into(), grade: Grade::Ok, fact: fact.into(), remedy: None }
    }

    fn warning(about: impl Into<String>, fact: impl Into<String>, remedy: &str) -> Self {
        let remedy = Some(remedy.to_owned());
        Self { about: about.into(), grade: Grade::Warning, fact: fact.into(), remedy }
    }

    fn problem(about: impl Into<String>, fact: impl Into<String>, remedy: &str) -> Self {
        Self { grade: Grade::Problem, ..Self::warning(about, fact, remedy) }
    }
}

/// Runs all checks; hanging servers or shares delay it. `remark` describes the user it runs as.
pub(crate) fn examine(config: &Config, remark: Option<&str>) -> anyhow::Result<Vec<Finding>> {
    let mut findings = machine::examine(config, remark);
    findings.extend(directories::examine(config));
    findings.extend(servers::examine(config)?);
    Ok(findings)
}

pub(crate) fn is_well(findings: &[Finding]) -> bool {
    findings.iter().all(|finding| finding.grade != Grade::Problem)
}

/// The page for a terminal. Facts may contain replies of servers.
pub(crate) fn page(findings: &[Finding]) -> String {
    let mut text = String::new();
    for Finding { about, grade, fact, remedy } in findings {
        let word = match grade {
            Grade::Ok => "ok",
            Grade::Warning => "warning",
            Grade::Problem => "PROBLEM",
        };
        let _ = writeln!(text, "{word:<8} {}: {}", Shown(about), Shown(fact));
        if let Some(remedy) = remedy {
            let _ = writeln!(text, "{:<8} → {remedy}", "");
        }
    }
    let count = |grade| findings.iter().filter(|finding| finding.grade == grade).count();
    let (problems, warnings) = (count(Grade::Problem), count(Grade::Warning));
    let _ = writeln!(text, "\n{problems} problems, {warnings} warnings.");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_finding_has_its_remedy_below_it() {
        let findings = [
            Finding::good("clock", "2027"),
            Finding::problem("/a", "not\nwritable", "Give it to the user."),
        ];
        assert_eq!(
            page(&findings),
            "ok       clock: 2027\nPROBLEM  /a: not\\u{a}writable\n         → Give it to the user.\n\
             \n1 problems, 0 warnings.\n"
        );
        assert!(!is_well(&findings) && is_well(&findings[..1]));
    }
}
