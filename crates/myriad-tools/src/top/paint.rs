//! Parts of a screen line: truncated text, colors, bars.

/// Capabilities of the terminal that output uses: colors, Unicode.
#[derive(Clone, Copy, Debug)]
pub(super) struct TerminalPaint {
    pub(super) has_colors: bool,
    pub(super) has_unicode: bool,
}

/// Parameter of the escape sequence for bold text (ECMA-48 SGR); the following constants are parameters for other
/// styles and colors.
pub(super) const BOLD: &str = "1";
pub(super) const DIM: &str = "2";
pub(super) const REVERSED: &str = "7";
pub(super) const RED: &str = "31";
pub(super) const GREEN: &str = "32";
pub(super) const YELLOW: &str = "33";
pub(super) const BLUE: &str = "34";
pub(super) const CYAN: &str = "36";

/// Truncates a line to `width` columns. Escape sequences in it need no column and are retained.
pub(super) fn fit(line: &str, width: usize) -> String {
    let mut parts = line.split('\x1b');
    let mut left = width;
    let mut cut = |text: &str| {
        let taken: String = text.chars().take(left).collect();
        left -= taken.chars().count();
        taken
    };
    let mut out = cut(parts.next().unwrap_or_default());
    for part in parts {
        let (color, text) = part.split_once('m').unwrap_or((part, ""));
        out.extend(["\x1b", color, "m"]);
        out.push_str(&cut(text));
    }
    out
}

impl TerminalPaint {
    pub(super) fn color(self, color: &str, text: &str) -> String {
        if self.has_colors && !text.is_empty() {
            format!("\x1b[{color}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }

    /// Escapes untrusted text and truncates it to `width` columns.
    pub(super) fn foreign(self, text: &str, width: usize) -> String {
        self.cut(&myriad_log::escaped(text), width)
    }

    /// Truncates a text to `width` columns and marks that it was truncated. Without Unicode, other characters than
    /// ASCII are replaced by `?`.
    pub(super) fn cut(self, text: &str, width: usize) -> String {
        let ascii;
        let text = if self.has_unicode || text.is_ascii() {
            text
        } else {
            ascii = text.chars().map(|c| if c.is_ascii() { c } else { '?' }).collect::<String>();
            &ascii
        };
        if text.chars().count() <= width {
            return text.to_owned();
        }
        if width == 0 {
            return String::new();
        }
        let mark = if self.has_unicode { '…' } else { '~' };
        text.chars().take(width.saturating_sub(1)).chain([mark]).collect()
    }

    /// Renders values as a chart of `width` columns with eight heights, the newest value at the right. The maximum has
    /// the full height.
    pub(super) fn spark(self, values: &[u64], width: usize) -> String {
        const BLOCKS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
        const ASCII: [char; 9] = [' ', '.', '.', ':', ':', '-', '=', '+', '#'];
        let heights = if self.has_unicode { BLOCKS } else { ASCII };
        let values = &values[values.len().saturating_sub(width)..];
        let most = values.iter().copied().max().unwrap_or(0).max(1);
        let column = |value: &u64| heights[(value * 8).div_ceil(most).min(8) as usize];
        let blanks = std::iter::repeat_n(' ', width - values.len());
        blanks.chain(values.iter().map(column)).collect()
    }

    /// Renders a bar of `width` columns, of which the fraction `part / all` is filled; an empty bar if `all` is 0.
    pub(super) fn bar(self, part: u64, all: u64, width: usize) -> String {
        let filled = if all == 0 { 0 } else { (part as f64 * width as f64 / all as f64).round() as usize };
        let filled = filled.min(width);
        let (full, empty) = if self.has_unicode { ("█", "░") } else { ("#", ".") };
        full.repeat(filled) + &empty.repeat(width - filled)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_show_the_newest_and_anything_above_nothing() {
        let paint = TerminalPaint { has_colors: false, has_unicode: true };
        assert_eq!(paint.spark(&[0, 1, 50, 100], 6), "   ▁▄█");
        assert_eq!(paint.spark(&[9, 100, 0], 2), "█ ");
        assert_eq!(paint.spark(&[], 3), "   ");
        assert_eq!(paint.bar(1, 2, 4), "██░░");
        assert_eq!(paint.bar(9, 0, 2), "░░");
    }

    #[test]
    fn without_unicode_everything_is_ascii() {
        let paint = TerminalPaint { has_colors: false, has_unicode: false };
        let all =
            [paint.spark(&[1, 2, 3, 900], 9), paint.bar(1, 3, 9), paint.foreign("é\u{1b}[2J-and-so-on", 9)];
        assert!(
            all.iter().all(|text| text.is_ascii() && text.chars().count() <= 9 && !text.contains('\u{1b}')),
            "{all:?}"
        );
    }
}
