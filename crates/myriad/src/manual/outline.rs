//! Outline of a usage text, whose lines are classified by their form.
//!
//! ```text
//! Usage: myriad cache ls [--zone Z]     synopsis, to the first empty line
//!
//! Looks at what is stored.              sentences
//!
//!   --zone Z        : of one zone       entry: names, and a text that further lines indent
//!
//! Which server:                         heading of the entries below it
//! ```

/// Usage text of a command, parsed for its manual page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct UsageOutline {
    /// Lines of the synopsis, without the word `Usage:`.
    pub(super) synopsis: Vec<String>,
    pub(super) parts: Vec<OutlinePart>,
}

/// Part of the text after the synopsis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum OutlinePart {
    /// Sentences of one paragraph.
    Sentences(String),
    /// Heading, without its colon.
    Heading(String),
    Entry(OutlineEntry),
}

/// Entry of a usage text: an option or word, and its meaning.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct OutlineEntry {
    /// Names as in the text, with their value: `-?,-h`, `--zone Z`.
    pub(super) names: String,
    pub(super) text: String,
}

/// Option of an entry, and the placeholder of its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct UsageOption<'a> {
    pub(super) name: &'a str,
    pub(super) value: Option<&'a str>,
}

/// Minimum indentation of continuation lines of an entry in a usage text, in columns; names start before it.
const INDENT: usize = 6;
const USAGE: &str = "Usage: ";

impl UsageOutline {
    /// Parses a usage text.
    pub(super) fn parse(usage: &str) -> Self {
        let mut outline = Self::default();
        let mut lines = usage.lines();
        for line in lines.by_ref().take_while(|line| !line.trim().is_empty()) {
            let line = line.strip_prefix(USAGE).or_else(|| line.strip_prefix("       ")).unwrap_or(line);
            outline.synopsis.push(line.to_owned());
        }
        let mut begins = true;
        for line in lines {
            if line.trim().is_empty() {
                begins = true;
                continue;
            }
            outline.add(line, begins);
            begins = false;
        }
        outline
    }

    fn add(&mut self, line: &str, begins: bool) {
        let indent = line.len() - line.trim_start().len();
        let words = line.trim();
        if let Some(OutlinePart::Entry(entry)) = self.parts.last_mut()
            && !begins
            && indent >= INDENT
        {
            return entry.append_words(words);
        }
        let part = match parse_entry(words).filter(|_| indent > 0).or_else(|| parse_column(words)) {
            Some(entry) => OutlinePart::Entry(entry),
            None if words.ends_with(':') => OutlinePart::Heading(words.trim_end_matches(':').to_owned()),
            None => match self.parts.last_mut() {
                Some(OutlinePart::Sentences(text)) if !begins => {
                    text.push(' ');
                    return text.push_str(words);
                }
                _ => OutlinePart::Sentences(words.to_owned()),
            },
        };
        self.parts.push(part);
    }

    /// Returns the options of all entries, each once.
    pub(super) fn switches(&self) -> Vec<UsageOption<'_>> {
        let mut all: Vec<UsageOption<'_>> = Vec::new();
        for part in &self.parts {
            let OutlinePart::Entry(entry) = part else { continue };
            for switch in entry.switches() {
                if !all.iter().any(|known| known.name == switch.name) {
                    all.push(switch);
                }
            }
        }
        all
    }
}

impl OutlineEntry {
    fn append_words(&mut self, words: &str) {
        let words = words.strip_prefix(':').unwrap_or(words).trim();
        if !self.text.is_empty() {
            self.text.push(' ');
        }
        self.text.push_str(words);
    }

    fn switches(&self) -> impl Iterator<Item = UsageOption<'_>> {
        self.names.split(',').filter_map(|name| {
            let name = name.trim();
            let (name, value) =
                name.split_once([' ', '=']).map_or((name, None), |(name, value)| (name, Some(value.trim())));
            name.starts_with('-').then_some(UsageOption { name, value })
        })
    }
}

/// Parses an entry `NAMES : TEXT` of a usage text, or names of options whose text starts in the next line. Returns
/// `None` for other lines.
fn parse_entry(words: &str) -> Option<OutlineEntry> {
    let mut quoted = false;
    for (at, letter) in words.char_indices() {
        match letter {
            '\'' => quoted = !quoted,
            ':' if !quoted && matches!(words.as_bytes().get(at + 1), None | Some(b' ')) => {
                let (names, text) = (words[..at].trim(), words[at + 1..].trim());
                return Some(OutlineEntry { names: names.to_owned(), text: text.to_owned() });
            }
            _ => {}
        }
    }
    words.starts_with('-').then(|| OutlineEntry { names: words.to_owned(), text: String::new() })
}

/// Parses an entry in a table of a usage text that has no colons: a word, spaces, its meaning. Returns `None` for other
/// lines.
fn parse_column(words: &str) -> Option<OutlineEntry> {
    let (name, text) =
        words.split_once("  ").or_else(|| words.split_once(' ').filter(|(name, _)| VERBS.contains(name)))?;
    (!name.contains(' ')).then(|| OutlineEntry { names: name.to_owned(), text: text.trim().to_owned() })
}

/// Words that are as wide as their column in tables of usage texts and are therefore followed by a single space.
const VERBS: [&str; 4] = ["stats", "drain", "status", "reload"];

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
Usage: myriad cache ls   [--zone Z]
       myriad cache stats

ls    lists it
stats tells
of it.

Tells what is
there.

  -?,-h         : help
  -H 'Name: x'  : a field,
                  repeated
  --php-children N
                : their number
  --encodings LIST: gzip
  URL           : http://host/

Which server:
  -c FILE       : that
";

    #[test]
    fn help_lines_are_classified_by_their_form() {
        let outline = UsageOutline::parse(TEXT);
        assert_eq!(outline.synopsis, ["myriad cache ls   [--zone Z]", "myriad cache stats"]);
        let entry = |names: &str, text: &str| {
            OutlinePart::Entry(OutlineEntry { names: names.into(), text: text.into() })
        };
        assert_eq!(
            outline.parts,
            [
                entry("ls", "lists it"),
                entry("stats", "tells"),
                OutlinePart::Sentences("of it.".into()),
                OutlinePart::Sentences("Tells what is there.".into()),
                entry("-?,-h", "help"),
                entry("-H 'Name: x'", "a field, repeated"),
                entry("--php-children N", "their number"),
                entry("--encodings LIST", "gzip"),
                entry("URL", "http://host/"),
                OutlinePart::Heading("Which server".into()),
                entry("-c FILE", "that"),
            ]
        );
    }

    #[test]
    fn options_come_with_the_word_of_their_value() {
        let outline = UsageOutline::parse(TEXT);
        let switches: Vec<_> =
            outline.switches().into_iter().map(|switch| (switch.name, switch.value)).collect();
        assert_eq!(
            switches,
            [
                ("-?", None),
                ("-h", None),
                ("-H", Some("'Name: x'")),
                ("--php-children", Some("N")),
                ("--encodings", Some("LIST")),
                ("-c", Some("FILE"))
            ]
        );
    }
}
