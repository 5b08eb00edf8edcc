//! Tables whose last column takes the remaining width of the terminal.

use super::style::{Color, Style, cut, heading};

/// Alignment of the values in a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Align {
    Left,
    Right,
    /// Left-aligned last column, truncated at the edge of the terminal.
    Rest,
}

/// Maximum width of each column of a table except the last, in characters.
const WIDEST: usize = 40;

pub(super) struct ReportTable<'a, const N: usize> {
    title: &'a str,
    columns: &'a [(&'a str, Align); N],
    rows: Vec<[String; N]>,
}

impl<'a, const N: usize> ReportTable<'a, N> {
    pub(super) fn new(title: &'a str, columns: &'a [(&'a str, Align); N]) -> Self {
        Self { title, columns, rows: Vec::new() }
    }

    pub(super) fn row(&mut self, row: [String; N]) {
        self.rows.push(row);
    }

    /// Renders the table below its title. Returns an empty text if it has no rows.
    pub(super) fn render(&self, style: &Style) -> String {
        if self.rows.is_empty() {
            return String::new();
        }
        let widths: [usize; N] = std::array::from_fn(|at| {
            let cells = self.rows.iter().map(|row| row[at].chars().count());
            cells.chain([self.columns[at].0.len()]).max().unwrap_or(0).min(WIDEST)
        });
        let names = std::array::from_fn(|at| self.columns[at].0.to_owned());
        let head = self.line(&names, &widths, style);
        let mut out = heading(style, self.title);
        out.push_str(&style.paint(Color::Dim, &head));
        for row in &self.rows {
            out.push('\n');
            out.push_str(&self.line(row, &widths, style));
        }
        out.push('\n');
        out
    }

    fn line(&self, cells: &[String; N], widths: &[usize; N], style: &Style) -> String {
        let mut line = String::new();
        for ((cell, width), (_, align)) in cells.iter().zip(widths).zip(self.columns) {
            line.push_str("  ");
            let left = style.width.saturating_sub(line.chars().count());
            let cell = cut(cell, if *align == Align::Rest { left } else { *width }, style.has_unicode);
            let blanks = " ".repeat(width.saturating_sub(cell.chars().count()));
            match align {
                Align::Right => line.extend([blanks, cell]),
                Align::Left => line.extend([cell, blanks]),
                Align::Rest => line.push_str(&cell),
            }
        }
        line.truncate(line.trim_end().len());
        line
    }
}
