//! Edits of a text.

use std::ops::Range;

/// Replaces ranges of a text, which are in order and do not overlap. An empty range inserts its text.
pub(crate) fn edited(text: &str, edits: &[(Range<usize>, String)]) -> String {
    let (mut out, mut from) = (String::with_capacity(text.len()), 0);
    for (range, new) in edits {
        out.push_str(&text[from..range.start]);
        out.push_str(new);
        from = range.end;
    }
    out.push_str(&text[from..]);
    out
}
