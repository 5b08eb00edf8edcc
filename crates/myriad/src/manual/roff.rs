//! The subset of the roff man macros that pages need.

use std::fmt::Write;

/// Manual page under construction, in roff.
#[derive(Debug)]
pub(super) struct RoffPage(String);

impl RoffPage {
    /// Creates a page with its title line.
    pub(super) fn new(title: &str, section: u8) -> Self {
        let version = env!("CARGO_PKG_VERSION");
        Self(format!(
            ".TH {} {section} \"\" \"myriad {version}\" \"Myriad\"\n.nh\n.ad l\n",
            title.to_uppercase()
        ))
    }

    pub(super) fn section(&mut self, name: &str) {
        let _ = writeln!(self.0, ".SH \"{}\"", escaped(name).to_uppercase());
    }

    pub(super) fn part(&mut self, name: &str) {
        let _ = writeln!(self.0, ".SS \"{}\"", escaped(name));
    }

    pub(super) fn paragraph(&mut self, text: &str) {
        self.0.push_str(".PP\n");
        self.line(text);
    }

    /// Appends text with its line breaks.
    pub(super) fn lines<'a>(&mut self, lines: impl IntoIterator<Item = &'a str>) {
        self.0.push_str(".nf\n");
        lines.into_iter().for_each(|line| self.line(line));
        self.0.push_str(".fi\n");
    }

    /// Appends a name in bold and its meaning, indented.
    pub(super) fn entry(&mut self, name: &str, text: &str) {
        let _ = writeln!(self.0, ".TP\n\\fB{}\\fR", escaped(name));
        self.line(text);
    }

    pub(super) fn line(&mut self, text: &str) {
        let guard = if text.starts_with(['.', '\'']) { "\\&" } else { "" };
        let _ = writeln!(self.0, "{guard}{}", escaped(text));
    }

    pub(super) fn finish(self) -> String {
        self.0
    }
}

/// Escapes text for roff: backslashes, and hyphens, quotes and other characters that must stay ASCII. Line breaks
/// become spaces.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len() + 8);
    for letter in text.chars() {
        match letter {
            '\\' => escaped.push_str("\\e"),
            '-' => escaped.push_str("\\-"),
            '"' => escaped.push_str("\\(dq"),
            '\'' => escaped.push_str("\\(aq"),
            '`' => escaped.push_str("\\(ga"),
            '^' => escaped.push_str("\\(ha"),
            '~' => escaped.push_str("\\(ti"),
            '\n' => escaped.push(' '),
            letter => escaped.push(letter),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_no_commands() {
        let mut page = RoffPage::new("myriad", 8);
        page.line(".so /etc/passwd");
        page.line("'br");
        page.entry("-H 'a\\b'", "\"x\"\n.y");
        let text = page.finish();
        let lines: Vec<_> = text.lines().skip(3).collect();
        assert_eq!(
            lines,
            ["\\&.so /etc/passwd", "\\&\\(aqbr", ".TP", "\\fB\\-H \\(aqa\\eb\\(aq\\fR", "\\(dqx\\(dq .y"]
        );
    }
}
