//! [`Columns`]: tables with aligned columns, cut to the width of the terminal.

use crate::terminal::style::{Style, Tint, cut, width_of};

/// Rows under their heads. A column in which nothing stands is left out; if the rest is too wide,
/// the flexible one gives way.
#[derive(Clone, Debug)]
pub(crate) struct Columns {
    heads: Vec<Head>,
    rows: Vec<Vec<Cell>>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Head {
    title: &'static str,
    fit: Fit,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Fit {
    Flexible,
    Left,
    Right,
}

#[derive(Clone, Debug)]
pub(crate) struct Cell {
    text: String,
    tint: Tint,
}

pub(crate) fn flexible(title: &'static str) -> Head {
    Head { title, fit: Fit::Flexible }
}

pub(crate) fn left(title: &'static str) -> Head {
    Head { title, fit: Fit::Left }
}

pub(crate) fn right(title: &'static str) -> Head {
    Head { title, fit: Fit::Right }
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self { text: text.into(), tint: Tint::Plain }
    }
}

impl Cell {
    pub(crate) fn tinted(tint: Tint, text: impl Into<String>) -> Self {
        Self { text: text.into(), tint }
    }
}

impl Columns {
    pub(crate) fn new(heads: impl IntoIterator<Item = Head>) -> Self {
        Self { heads: heads.into_iter().collect(), rows: Vec::new() }
    }

    pub(crate) fn push(&mut self, row: impl IntoIterator<Item = Cell>) {
        self.rows.push(row.into_iter().collect());
    }

    pub(crate) fn page(&self, style: Style) -> String {
        let widths = self.widths(style.width);
        let titles: Vec<_> =
            self.heads.iter().map(|head| Cell::tinted(Tint::Faint, head.title)).collect();
        let has_titles = self.heads.iter().any(|head| !head.title.is_empty());
        let rows = has_titles.then_some(&titles).into_iter().chain(&self.rows);
        rows.map(|row| self.line(row, &widths, style)).collect()
    }

    fn line(&self, row: &[Cell], widths: &[Option<usize>], style: Style) -> String {
        let columns = self.heads.iter().zip(row).zip(widths);
        let cells = columns.filter_map(|((head, cell), width)| Some((head, cell, (*width)?)));
        let shown: Vec<_> = cells
            .map(|(head, cell, width)| {
                let text = cut(&cell.text, width);
                let blank = " ".repeat(width - width_of(&text));
                let text = style.tint(cell.tint, &text);
                if head.fit == Fit::Right { blank + &text } else { text + &blank }
            })
            .collect();
        format!("{}\n", shown.join(GAP).trim_end())
    }

    /// Of each column that is shown.
    fn widths(&self, room: Option<usize>) -> Vec<Option<usize>> {
        let mut widths: Vec<_> = (0..self.heads.len()).map(|at| self.natural_width(at)).collect();
        let shown = widths.iter().flatten();
        let all = shown.clone().sum::<usize>() + shown.count().saturating_sub(1) * GAP.len();
        let excess = all.saturating_sub(room.unwrap_or(usize::MAX));
        let flexible = self.heads.iter().position(|head| head.fit == Fit::Flexible);
        if let Some(Some(width)) = flexible.map(|at| &mut widths[at]) {
            *width = width.saturating_sub(excess).max(NARROWEST.min(*width));
        }
        widths
    }

    fn natural_width(&self, at: usize) -> Option<usize> {
        let cells = self.rows.iter().filter_map(|row| row.get(at));
        let widest = cells.map(|cell| width_of(&cell.text)).max().unwrap_or(0);
        let title = width_of(self.heads[at].title);
        (widest > 0 || self.rows.is_empty()).then_some(widest.max(title))
    }
}

const GAP: &str = "  ";

/// A shorter part of a name is useless.
const NARROWEST: usize = 12;

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Columns {
        let mut table =
            Columns::new([right("ID"), flexible("NAME"), left("CATEGORY"), right("SIZE")]);
        table.push(["7".into(), "A name that is rather long".into(), "".into(), "1.2 GB".into()]);
        table.push(["1234".into(), "漢字".into(), "".into(), "5 B".into()]);
        table
    }

    #[test]
    fn columns_line_up_and_empty_ones_are_left_out() {
        let expected = "  ID  NAME                          SIZE\n   \
                        7  A name that is rather long  1.2 GB\n\
                        1234  漢字                           5 B\n";
        assert_eq!(sample().page(Style { width: None, ..Style::plain(0) }), expected);
    }

    #[test]
    fn the_flexible_column_gives_way() {
        let page = sample().page(Style::plain(30));
        assert_eq!(page.lines().nth(1), Some("   7  A name that is …  1.2 GB"));
        assert!(page.lines().all(|line| width_of(line) <= 30));
        let narrow = sample().page(Style::plain(5));
        assert_eq!(narrow.lines().nth(1), Some("   7  A name that…  1.2 GB"));
    }

    #[test]
    fn a_table_without_titles_has_no_line_for_them() {
        let mut table = Columns::new([left(""), left("")]);
        table.push(["a".into(), "b".into()]);
        assert_eq!(table.page(Style::plain(80)), "a  b\n");
    }
}
