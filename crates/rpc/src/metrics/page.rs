//! [`Page`]: the text of a `/metrics` response, for Prometheus or OpenMetrics.

use std::fmt::{Display, Write};

/// Which of the two formats is wanted; they differ in the names of counters and in how they end.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Flavour {
    OpenMetrics,
    Prometheus,
}

impl Flavour {
    /// By the `Accept` header.
    pub(crate) fn wanted(accept: &str) -> Self {
        match accept.contains("application/openmetrics-text") {
            true => Self::OpenMetrics,
            false => Self::Prometheus,
        }
    }

    pub(crate) fn content_type(self) -> &'static str {
        match self {
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Self::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
        }
    }
}

pub(crate) struct Page {
    text: String,
    flavour: Flavour,
}

/// The samples of one family, which stand together.
pub(super) struct Family<'a> {
    page: &'a mut Page,
    /// Of its samples.
    name: String,
}

impl Page {
    pub(super) fn new(flavour: Flavour) -> Self {
        Self { text: String::new(), flavour }
    }

    /// Its samples are called so with `_total` behind it.
    pub(super) fn counter(&mut self, name: &str, help: &str) -> Family<'_> {
        let total = format!("{name}_total");
        let head = if self.flavour == Flavour::OpenMetrics { name } else { &total };
        self.head(head, "counter", help);
        Family { page: self, name: total }
    }

    pub(super) fn gauge(&mut self, name: &str, help: &str) -> Family<'_> {
        self.head(name, "gauge", help);
        Family { page: self, name: name.to_owned() }
    }

    fn head(&mut self, name: &str, kind: &str, help: &str) {
        let _ = write!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
    }

    pub(super) fn end(mut self) -> Vec<u8> {
        if self.flavour == Flavour::OpenMetrics {
            self.text.push_str("# EOF\n");
        }
        self.text.into_bytes()
    }
}

impl Family<'_> {
    pub(super) fn is(&mut self, value: impl Display) -> &mut Self {
        self.of(&[], value)
    }

    pub(super) fn of(&mut self, labels: &[(&str, &str)], value: impl Display) -> &mut Self {
        let text = &mut self.page.text;
        text.push_str(&self.name);
        for (place, (name, label)) in labels.iter().enumerate() {
            text.push_str(if place == 0 { "{" } else { "," });
            let _ = write!(text, "{name}=\"{}\"", escaped(label));
        }
        let _ = writeln!(text, "{} {value}", if labels.is_empty() { "" } else { "}" });
        self
    }
}

fn escaped(label: &str) -> String {
    label.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(flavour: Flavour) -> String {
        let mut page = Page::new(flavour);
        page.counter("a_bytes", "What came.").of(&[("server", "x \"y\"\\\n"), ("b", "c")], 5u64);
        page.gauge("b", "One.").is(0.5);
        String::from_utf8(page.end()).expect("text")
    }

    #[test]
    fn counters_are_named_as_each_format_has_it() {
        let samples = "a_bytes_total{server=\"x \\\"y\\\"\\\\\\n\",b=\"c\"} 5\n# HELP b One.\n# TYPE b gauge\nb 0.5\n";
        assert_eq!(
            written(Flavour::Prometheus),
            format!("# HELP a_bytes_total What came.\n# TYPE a_bytes_total counter\n{samples}")
        );
        assert_eq!(
            written(Flavour::OpenMetrics),
            format!("# HELP a_bytes What came.\n# TYPE a_bytes counter\n{samples}# EOF\n")
        );
    }

    #[test]
    fn the_reader_says_which_it_wants() {
        let accept = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5";
        assert_eq!(Flavour::wanted(accept), Flavour::OpenMetrics);
        assert_eq!(Flavour::wanted("*/*"), Flavour::Prometheus);
    }
}
