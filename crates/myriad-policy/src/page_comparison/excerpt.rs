//! Excerpts of pages around a difference, for reports.

use std::ops::Range;

/// Maximum number of bytes, from the start of a difference on, that a report contains.
const MAX_EXCERPT: usize = 80;
/// Number of bytes before a difference, and minimum number after its start, that a report contains.
const EXCERPT_CONTEXT: usize = 40;

/// Returns up to 40 bytes of text before a difference, and 40 to 80 bytes from its start on, each without line breaks;
/// fewer at the end of the page.
pub fn excerpt(page: &[u8], difference: Range<usize>) -> (String, String) {
    let start = difference.start.min(page.len());
    let end = difference.end.max(start + EXCERPT_CONTEXT).min(start + MAX_EXCERPT).min(page.len());
    let near = one_line(&page[start.saturating_sub(EXCERPT_CONTEXT)..start]);
    (near, one_line(&page[start..end]))
}

/// Returns text with one space in place of each sequence of white space.
fn one_line(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let mut line = String::with_capacity(text.len());
    for character in text.chars() {
        if !character.is_whitespace() {
            line.push(character);
        } else if !line.ends_with(' ') {
            line.push(' ');
        }
    }
    line
}
