//! Properties of the terminal that receives a report.

use crate::log_stats::time::shown;

/// Presentation of a report: width and capabilities of the terminal.
#[derive(Clone, Copy, Debug)]
pub struct Style {
    /// Number of columns of the terminal.
    pub width: usize,
    /// True if colors may be used.
    pub has_colors: bool,
    /// True if characters beyond ASCII may be used.
    pub has_unicode: bool,
    /// Function that returns the offset from UTC in minutes at a time in seconds since the epoch, positive to the east.
    pub offset_minutes: fn(u64) -> i32,
    /// Function that escapes untrusted text for a terminal.
    pub escaped: fn(&str) -> String,
}

#[derive(Clone, Copy)]
pub(super) enum Color {
    Bold,
    Dim,
    Green,
    Cyan,
    Yellow,
    Red,
}

impl Style {
    pub(super) fn paint(&self, color: Color, text: &str) -> String {
        if !self.has_colors || text.is_empty() {
            return text.to_owned();
        }
        let code = match color {
            Color::Bold => "1",
            Color::Dim => "2",
            Color::Green => "32",
            Color::Cyan => "36",
            Color::Yellow => "33",
            Color::Red => "31",
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }

    pub(super) fn time(&self, seconds: Option<u64>) -> String {
        seconds.map_or_else(|| "?".to_owned(), |seconds| shown(seconds, (self.offset_minutes)(seconds)))
    }
}

pub(super) fn heading(style: &Style, text: &str) -> String {
    format!("{}\n", style.paint(Color::Bold, text))
}

/// Truncates a text to `width` characters, with the mark `…` as the last one if it was longer. Without Unicode, the
/// mark is `~`, and `*` replaces each `…` of the text.
pub(super) fn cut(text: &str, width: usize, has_unicode: bool) -> String {
    let ascii;
    let text = if has_unicode {
        text
    } else {
        ascii = text.replace('…', "*");
        &ascii
    };
    if text.chars().count() <= width {
        return text.to_owned();
    }
    if width == 0 {
        return String::new();
    }
    let mark = if has_unicode { '…' } else { '~' };
    text.chars().take(width.saturating_sub(1)).chain([mark]).collect()
}
