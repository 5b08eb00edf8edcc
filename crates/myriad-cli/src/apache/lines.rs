//! Parser of Apache's configuration language: directives, and sections `<Name arguments>` with their contents.

use crate::apache::site::Remark;

/// Maximum length of the text of an Apache configuration, in bytes. The rest of a longer text is ignored, with a
/// remark.
pub const LARGEST: usize = 1 << 20;
/// Maximum depth of nested sections. The start of a deeper section is reported in a remark and ignored.
const DEEPEST: usize = 32;
/// Maximum number of lines, without empty lines and comments. The rest of a longer text is ignored, with a remark.
const MOST: usize = 20_000;

/// Directive or section of an Apache configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ApacheItem {
    /// Number of the line in the text, from 1.
    pub(crate) line: usize,
    /// Name of the directive or section, as in the text.
    pub(crate) name: String,
    /// Arguments, without quotes.
    pub(crate) words: Vec<String>,
    /// Line with its continuation lines, without control characters, for comments in the translation.
    pub(crate) text: String,
    /// Contents of a section; `None` for a directive.
    pub(crate) inner: Option<Vec<ApacheItem>>,
}

impl ApacheItem {
    /// Returns whether the name matches; names in Apache are case-insensitive.
    pub(crate) fn is(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name)
    }

    /// Returns the argument at an index; empty if it is missing.
    pub(crate) fn word(&self, index: usize) -> &str {
        self.words.get(index).map_or("", String::as_str)
    }
}

/// Parses a text. Sections that are not closed, closing tags without an open section, and lines beyond the limits are
/// reported in remarks.
pub(crate) fn read(text: &str) -> (Vec<ApacheItem>, Vec<Remark>) {
    let mut remarks = Vec::new();
    let text = match text.get(..text.floor_char_boundary(LARGEST)) {
        Some(head) if head.len() < text.len() => {
            remarks.push(Remark::missing(0, "the rest of the file", "only the first MiB is read"));
            head
        }
        _ => text,
    };
    // Open sections, the innermost last; the first element is the file itself.
    let mut open: Vec<(Option<ApacheItem>, Vec<ApacheItem>)> = vec![(None, Vec::new())];
    for (count, (line, text)) in joined(text).into_iter().enumerate() {
        if count >= MOST {
            remarks.push(Remark::missing(line, "the rest of the file", "the file has too many lines"));
            break;
        }
        if let Some(name) = text.strip_prefix("</") {
            let name = name.trim_end_matches('>').trim();
            let is_open =
                open.last().is_some_and(|(item, _)| item.as_ref().is_some_and(|item| item.is(name)));
            if is_open {
                close(&mut open);
            } else {
                remarks.push(Remark::missing(line, &text, "no section of this name is open here"));
            }
            continue;
        }
        let section = text.strip_prefix('<').map(|rest| rest.trim_end().trim_end_matches('>'));
        let mut words = words(section.unwrap_or(&text)).into_iter();
        let Some(name) = words.next() else { continue };
        let item = ApacheItem {
            line,
            name,
            words: words.collect(),
            text: text.clone(),
            inner: section.map(|_| Vec::new()),
        };
        if section.is_none() {
            if let Some((_, items)) = open.last_mut() {
                items.push(item);
            }
        } else if open.len() > DEEPEST {
            remarks.push(Remark::missing(line, &text, "sections are nested too deep"));
        } else {
            open.push((Some(item), Vec::new()));
        }
    }
    while open.len() > 1 {
        if let Some((Some(item), _)) = open.last() {
            remarks.push(Remark::missing(item.line, &item.text, "this section is not closed"));
        }
        close(&mut open);
    }
    (open.pop().map(|(_, items)| items).unwrap_or_default(), remarks)
}

fn close(open: &mut Vec<(Option<ApacheItem>, Vec<ApacheItem>)>) {
    if let Some((Some(section), inner)) = open.pop()
        && let Some((_, items)) = open.last_mut()
    {
        items.push(ApacheItem { inner: Some(inner), ..section });
    }
}

/// Returns the lines that are neither empty nor comments, each with its number, without control characters other than
/// tabs. A line with a trailing `\` is joined with the next line.
fn joined(text: &str) -> Vec<(usize, String)> {
    let mut lines: Vec<(usize, String)> = Vec::new();
    let mut begun: Option<(usize, String)> = None;
    for (index, line) in text.lines().enumerate() {
        let (number, mut whole) = begun.take().unwrap_or((index + 1, String::new()));
        let line = if whole.is_empty() { line.trim_start() } else { line };
        if let Some(head) = line.strip_suffix('\\') {
            whole.push_str(head);
            begun = Some((number, whole));
            continue;
        }
        whole.push_str(line);
        lines.push((number, whole));
    }
    lines.extend(begun);
    let shown = |text: &str| {
        text.trim().chars().filter(|letter| !letter.is_control() || *letter == '\t').collect::<String>()
    };
    lines
        .into_iter()
        .map(|(number, text)| (number, shown(&text)))
        .filter(|(_, text)| !text.is_empty() && !text.starts_with('#'))
        .collect()
}

/// Splits a line into words, and removes the quotes around a word. In a quoted word, a backslash escapes only the
/// enclosing kind of quote, and `\\` is retained. In an unquoted word, a backslash before a space is retained, and the
/// space becomes a part of the word.
pub(crate) fn words(text: &str) -> Vec<String> {
    let (mut words, mut letters) = (Vec::new(), text.chars().peekable());
    loop {
        while letters.next_if(|letter| letter.is_whitespace()).is_some() {}
        let Some(&first) = letters.peek() else { return words };
        let quote = (first == '"' || first == '\'').then_some(first);
        if quote.is_some() {
            letters.next();
        }
        let mut word = String::new();
        while let Some(letter) = letters.next() {
            match (letter, quote, letters.peek()) {
                ('\\', Some(quote), Some(&next)) if next == quote || next == '\\' => {
                    if next == '\\' {
                        word.push('\\');
                    }
                    word.push(next);
                    letters.next();
                }
                // Words in Apache are separated by spaces, unless a backslash precedes them.
                ('\\', None, Some(&' ')) => {
                    word.push_str("\\ ");
                    letters.next();
                }
                (letter, Some(quote), _) if letter == quote => break,
                (letter, None, _) if letter.is_whitespace() => break,
                (letter, ..) => word.push(letter),
            }
        }
        words.push(word);
    }
}
