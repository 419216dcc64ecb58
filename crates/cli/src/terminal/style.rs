//! [`Style`]: width, colours and time zone of the terminal that a command writes to.

use std::io::IsTerminal;

use bergamot_limit::Zone;
use bergamot_types::UnixTime;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use bergamot_config::machine_zone;

/// Everything that pages depend on besides their data.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Style {
    /// Columns of the terminal; none where there is no terminal, and nothing is cut.
    pub(crate) width: Option<usize>,
    pub(crate) colours: bool,
    pub(crate) now: UnixTime,
    pub(crate) zone: Zone,
}

#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) enum Tint {
    Bad,
    Busy,
    Faint,
    Good,
    #[default]
    Plain,
    Title,
    Warning,
}

impl Style {
    /// Of standard output. `NO_COLOR` is heeded if it holds anything (no-color.org).
    pub(crate) fn of_this_terminal(now: UnixTime) -> Self {
        let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let is_terminal = std::io::stdout().is_terminal();
        let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        Self {
            width: is_terminal.then(|| terminal_size().0),
            colours: is_terminal && !is_dumb && !is_set("NO_COLOR"),
            now,
            zone: zone_here(),
        }
    }

    pub(crate) fn tint(self, tint: Tint, text: &str) -> String {
        let code = match tint {
            Tint::Bad => "31",
            Tint::Busy => "36",
            Tint::Faint => "2",
            Tint::Good => "32",
            Tint::Plain => return text.to_owned(),
            Tint::Title => "1",
            Tint::Warning => "33",
        };
        match self.colours && !text.is_empty() {
            true => format!("\u{1b}[{code}m{text}\u{1b}[0m"),
            false => text.to_owned(),
        }
    }

    pub(crate) fn date(self, at: UnixTime) -> String {
        self.zone.written(at)
    }

    pub(crate) fn date_to_the_second(self, at: UnixTime) -> String {
        self.zone.written_to_the_second(at)
    }
}

/// Columns and lines of the terminal at standard output.
pub(crate) fn terminal_size() -> (usize, usize) {
    let size = rustix::termios::tcgetwinsize(std::io::stdout());
    size.ok()
        .map(|size| (usize::from(size.ws_col), usize::from(size.ws_row)))
        .filter(|(columns, lines)| *columns > 0 && *lines > 0)
        .unwrap_or(USUAL_SIZE)
}

/// Columns a text takes.
pub(crate) fn width_of(text: &str) -> usize {
    text.width()
}

/// At most so many columns of it, with a mark where it was cut.
pub(crate) fn cut(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    let mut left = columns.saturating_sub(1);
    let mut kept = String::new();
    for c in text.chars() {
        let width = c.width().unwrap_or(0);
        if width > left {
            break;
        }
        left -= width;
        kept.push(c);
    }
    if columns > 0 {
        kept.push('…');
    }
    kept
}

/// By `TZ`, or the machine's; else UTC.
fn zone_here() -> Zone {
    let variable = std::env::var("TZ").ok();
    let named = variable.and_then(|name| name.trim_start_matches(':').parse().ok());
    named.or_else(machine_zone).unwrap_or_default()
}

const USUAL_SIZE: (usize, usize) = (80, 24);

#[cfg(test)]
impl Style {
    pub(crate) fn plain(width: usize) -> Self {
        Self {
            width: Some(width),
            colours: false,
            now: UnixTime(1_800_000_000),
            zone: Zone::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_cut_fits_and_says_so() {
        for (text, columns, shown) in [
            ("short", 5, "short"),
            ("longer", 5, "long…"),
            ("漢字漢字", 5, "漢字…"),
            ("漢字漢字", 4, "漢…"),
            ("x", 0, ""),
        ] {
            let found = cut(text, columns);
            assert_eq!(found, shown);
            assert!(width_of(&found) <= columns);
        }
    }

    #[test]
    fn colours_are_left_out_where_nobody_wants_them() {
        let plain = Style::plain(80);
        assert_eq!(plain.tint(Tint::Bad, "x"), "x");
        let coloured = Style { colours: true, ..plain };
        assert_eq!(coloured.tint(Tint::Bad, "x"), "\u{1b}[31mx\u{1b}[0m");
        assert_eq!(coloured.tint(Tint::Plain, "x"), "x");
        assert_eq!(coloured.tint(Tint::Bad, ""), "");
    }
}
