//! Conversion of diagnostics to text, and the output of `-T`.

use std::fmt::Write as _;

use crate::{
    diagnostic::{Diagnostic, RepeatedDiagnostics, Severity},
    parsed::{ParsedConfiguration, SourceFile},
    span::Span,
};

/// Maximum number of characters of a source line that are shown with a diagnostic. A message of more than four times
/// this length is cut to three times; a name of more than half is not shown.
const WIDTH: usize = 120;

/// Maximum number of further positions that are listed for a diagnostic.
const MAX_ALSO: usize = 20;

/// Converts a diagnostic to text: severity and message, file, line and column, the source line with carets, further
/// positions, and advice. The text ends with a newline.
pub fn render(parsed: &ParsedConfiguration, diagnostic: &Diagnostic) -> String {
    let kind = match diagnostic.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Hint => "hint",
    };
    let mut out = format!("{kind}: {}\n", shortened(&diagnostic.message));
    place(&mut out, parsed, diagnostic.span, "");
    for (span, label) in &diagnostic.related {
        place(&mut out, parsed, *span, label);
    }
    if let Some(repeats) = &diagnostic.repeats {
        also(&mut out, parsed, repeats);
    }
    for line in &diagnostic.help {
        let _ = writeln!(out, "help: {}", shortened(line));
    }
    out
}

/// Appends the further positions of a repeated diagnostic: the first [`MAX_ALSO`], grouped by file, and the number of
/// the rest. If the diagnostics share only their cause, a position is followed by its text if [`name_at`] returns it.
fn also(out: &mut String, parsed: &ParsedConfiguration, repeats: &RepeatedDiagnostics) {
    let places = &repeats.also;
    if places.is_empty() {
        return;
    }
    let _ = write!(out, "also at");
    let mut file = None;
    for (index, span) in places.iter().take(MAX_ALSO).enumerate() {
        let Some(source) = parsed.source(span.file) else { continue };
        let separator = if index == 0 { "" } else { "," };
        let (line, column) = line_and_column(source, span.start);
        if file.replace(span.file) == Some(span.file) {
            let _ = write!(out, "{separator} {line}:{column}");
        } else {
            let _ = write!(out, "{separator} {}:{line}:{column}", source.path.display());
        }
        // Errors with a common cause have different messages, so the directive or variable is shown.
        if let Some(name) = repeats.cause.and_then(|_| name_at(source, *span)) {
            let _ = write!(out, " ({name})");
        }
    }
    match places.len().saturating_sub(MAX_ALSO) {
        0 => out.push('\n'),
        1 => out.push_str(" and 1 more place\n"),
        more => {
            let _ = writeln!(out, " and {more} more places");
        }
    }
}

/// Returns the text of a span if it has the form of a directive or variable name and is not too long; otherwise `None`.
fn name_at(source: &SourceFile, span: Span) -> Option<&str> {
    let text = std::str::from_utf8(source.bytes.get(span.start as usize..span.end as usize)?).ok()?;
    let name = text.strip_prefix('$').unwrap_or(text);
    let is_name = name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
    (is_name && text.len() <= WIDTH / 2).then_some(text)
}

/// Returns a diagnostic's message in printable characters. Of a message of more than 480 characters, only the first 240
/// and the last 120 are returned, because words of a file may be megabytes long.
fn shortened(message: &str) -> String {
    let text = printable(message.as_bytes());
    if text.len() <= 4 * WIDTH {
        return text.into_iter().collect();
    }
    let (head, tail) = (&text[..2 * WIDTH], &text[text.len() - WIDTH..]);
    head.iter().chain(&['…']).chain(tail).collect()
}

/// Returns the line and column of a byte offset, both starting at 1. Columns count characters.
pub fn line_and_column(source: &SourceFile, offset: u32) -> (usize, usize) {
    let before = &source.bytes[..(offset as usize).min(source.bytes.len())];
    let line = before.split(|&byte| byte == b'\n').count();
    let start = before.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
    (line, String::from_utf8_lossy(&before[start..]).chars().count() + 1)
}

fn place(out: &mut String, parsed: &ParsedConfiguration, span: Span, label: &str) {
    let Some(source) = parsed.source(span.file) else { return };
    if span == Span::default() && source.path.as_os_str() != "-g" {
        return;
    }
    let (line, column) = line_and_column(source, span.start);
    let colon = if label.is_empty() { "" } else { ": " };
    let _ = writeln!(out, "  --> {}:{line}:{column}{colon}{label}", source.path.display());
    let (text, before, width) = excerpt(source, span);
    let gutter = line.to_string();
    let blank = " ".repeat(gutter.len());
    let _ = writeln!(out, " {gutter} | {text}");
    let _ = writeln!(out, " {blank} | {}{}", " ".repeat(before), "^".repeat(width));
}

/// Returns the source line of a span, cut to [`WIDTH`] characters around it, the number of columns before the carets,
/// and the number of carets.
fn excerpt(source: &SourceFile, span: Span) -> (String, usize, usize) {
    let bytes = &source.bytes;
    let at = (span.start as usize).min(bytes.len());
    let first = bytes[..at].iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
    let last = bytes[at..].iter().position(|&byte| byte == b'\n').map_or(bytes.len(), |n| at + n);
    let end = (span.end as usize).clamp(at, last);
    let line = source.masked_bytes(first, last);
    let head = printable(&line[..at - first]);
    let marked = printable(&line[at - first..end - first]);
    let tail = printable(&line[end - first..]);
    let skipped = head.len().saturating_sub(WIDTH / 2);
    let mut line: Vec<char> = if skipped > 0 { vec!['…'] } else { Vec::new() };
    line.extend(&head[skipped..]);
    let before = line.len();
    line.extend(marked.iter().chain(&tail));
    if line.len() > WIDTH {
        line.truncate(WIDTH);
        line.push('…');
    }
    let width = marked.len().clamp(1, (line.len().saturating_sub(before)).max(1));
    (line.iter().collect::<String>().trim_end().to_owned(), before, width)
}

/// Converts bytes to characters that a terminal shows: tabs become spaces, and control characters are removed.
fn printable(bytes: &[u8]) -> Vec<char> {
    let text = String::from_utf8_lossy(bytes);
    text.chars().map(|c| if c == '\t' { ' ' } else { c }).filter(|c| !c.is_control()).collect()
}

/// Returns the output of `-T`: every source file once, each after a line `# configuration file PATH:`, without `-g`.
pub fn dump(parsed: &ParsedConfiguration) -> Vec<u8> {
    let mut out = Vec::new();
    for source in parsed.sources.iter().filter(|source| source.path.as_os_str() != "-g") {
        out.extend(format!("# configuration file {}:\n", source.path.display()).bytes());
        out.extend(&source.bytes[..]);
        out.push(b'\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::shortened;
    use crate::{MemoryLoader, parse};

    #[test]
    fn long_messages_are_shown_by_their_ends_and_without_control_characters() {
        assert_eq!(shortened("unknown directive \"\u{1b}[31mx\""), "unknown directive \"[31mx\"");
        let long = format!("regex \"{}\" does not compile", "a".repeat(1_000_000));
        let short = shortened(&long);
        assert!(short.starts_with("regex \"aaa") && short.ends_with("a\" does not compile"), "{short}");
        assert!(short.chars().count() < 400);
    }

    #[test]
    fn keys_after_data_are_masked_in_lines() {
        for (text, shown) in [
            ("key data:abc; x y", "key data:***; x y"),
            ("key data:a\\;c; x", "key data:****; x"),
            ("key 'data:a b\\'c'; x", "key 'data:******'; x"),
            ("key \"data:-\nab;c\nde\"; x", "**\"; x"),
            ("key \"data:-\nab;c\"\nde; x", "de; x"),
            ("key \"data:-\nab;c", "****"),
            ("key metadata:abc;", "key metadata:abc;"),
            ("data:", "data:"),
            ("key “data:a b”; x", "key “data:***”; x"),
            ("key ‘data:a b;c’; x", "key ‘data:*****’; x"),
            ("key “data:a b‘c; x", "key “data:*******; x"),
            ("key “data:a\nb c” d; x", "********; x"),
            ("key “data:a\nb c”", "******"),
            ("key 'data:a b”; x y", "key 'data:***********"),
            ("x; # key data:a b", "x; # key data:***"),
            ("x; #data:a b", "x; #data:***"),
            ("x; # key “data:a b", "x; # key “data:***"),
            ("x; # metadata:a b", "x; # metadata:a b"),
            ("a { b 'data:c' {{{ 'data:d'; }", "a { b 'data:*' {{{ 'data:*'; }"),
        ] {
            let path = Path::new("test.conf");
            let parsed = parse::parse(&MemoryLoader::with(path, text), path, b"", &[]);
            let first = text.rfind('\n').map_or(0, |at| at + 1);
            let line = parsed.sources[0].masked_bytes(first, text.len());
            let line = String::from_utf8(line).unwrap();
            assert_eq!(line, shown, "{text}");
        }
    }
}
