//! Regexes and quoting. In a `.htaccess`, Apache matches the path relative to its folder; nginx matches the whole path.

use std::fmt::Write as _;
use std::iter::Peekable;
use std::str::CharIndices;

/// Converts the regex of a rule in the folder `base` to one for the whole path: for `/blog/`, `^a|b` becomes
/// `^/blog/a|^/blog/.*?b`. Returns `None` if a `^` is elsewhere than at the start of an alternative.
pub(crate) fn whole(pattern: &str, base: &str) -> Option<String> {
    below(pattern, &escaped(base))
}

/// Converts the regex of a rule in a folder to one for the whole path; `base` is a regex for the path of the folder.
/// Returns `None` if a `^` is elsewhere than at the start of an alternative.
pub(crate) fn below(pattern: &str, base: &str) -> Option<String> {
    let mut alternatives = Vec::new();
    for alternative in split(pattern) {
        alternatives.push(match alternative.strip_prefix('^') {
            Some(rest) if !has_anchor(rest) => format!("^{base}{rest}"),
            None if alternative.is_empty() || alternative == "." => format!("^{base}{alternative}"),
            None if !has_anchor(alternative) => format!("^{base}.*?{alternative}"),
            _ => return None,
        });
    }
    Some(alternatives.join("|"))
}

/// Converts a regex for file names to one for the URL paths of files in a folder or below it. `base` is a regex for the
/// path of the folder. In `/a.php/b` the file name is `a.php`.
///
/// Returns `None` if the regex is too long or not balanced ([`is_balanced`]), has syntax that is unsafe in a
/// configuration for several owners, or has a `^` elsewhere than at the start of an alternative.
pub(crate) fn file_name_regex(pattern: &str, base: &str) -> Option<String> {
    let (case, pattern) = match pattern.strip_prefix("(?i)") {
        Some(rest) => ("(?i)", rest),
        None => ("", pattern),
    };
    if pattern.len() > LONGEST || !is_balanced(pattern) || !is_harmless(pattern) {
        return None;
    }
    let start = format!("^{base}(?:.*/)?(?=[^/]*(?:$|\\.php/))");
    let mut alternatives = Vec::new();
    for alternative in split(pattern) {
        let (anchored, rest) = match alternative.strip_prefix('^') {
            Some(rest) => ("", rest),
            None => ("[^/]*?", alternative),
        };
        if has_anchor(rest) {
            return None;
        }
        alternatives.push(format!("{anchored}{}", with_path_info(rest)));
    }
    match &alternatives[..] {
        [alternative] => Some(format!("{case}{start}{alternative}")),
        // The path of the folder, which may be long, is in the regex once.
        alternatives => Some(format!("{case}{start}(?:{})", alternatives.join("|"))),
    }
}

/// Maximum length of a regex for file names, in bytes.
const LONGEST: usize = 1000;

/// Returns whether a regex has no other effect than matching: it has no named groups (which would set variables of the
/// configuration), verbs, options, recursion, callouts or control characters, and no escapes other than character
/// classes, word boundaries and punctuation.
fn is_harmless(pattern: &str) -> bool {
    let (mut rest, mut in_brackets) = (pattern, false);
    while let Some(letter) = rest.chars().next() {
        rest = &rest[letter.len_utf8()..];
        match letter {
            '\\' => {
                let Some(escaped) = rest.chars().next() else { return false };
                if escaped.is_ascii_alphanumeric() && !"dDwWsSbB".contains(escaped) || !escaped.is_ascii() {
                    return false;
                }
                rest = &rest[escaped.len_utf8()..];
            }
            '[' => in_brackets = true,
            ']' => in_brackets = false,
            '(' if !in_brackets => {
                let is_plain = !rest.starts_with(['?', '*']);
                let known = ["?:", "?=", "?!", "?<=", "?<!"];
                if !is_plain && !known.iter().any(|start| rest.starts_with(start)) {
                    return false;
                }
            }
            letter if letter.is_control() => return false,
            _ => {}
        }
    }
    true
}

/// Changes each `$` that is neither escaped nor in brackets to also match before the path info of a PHP file.
fn with_path_info(pattern: &str) -> String {
    let (mut out, mut from) = (String::new(), 0);
    for (at, _) in outside(pattern).filter(|(_, letter)| *letter == '$') {
        out.push_str(&pattern[from..at]);
        out.push_str("(?:$|(?<=\\.php)/)");
        from = at + 1;
    }
    out.push_str(&pattern[from..]);
    out
}

/// Returns whether a regex is one of the usual ones that match every text without line breaks.
pub(crate) fn is_any(pattern: &str) -> bool {
    matches!(pattern, "" | "^" | "$" | ".*" | "^.*" | "^.*$" | ".*$" | "(.*)" | "^(.*)$" | "^(.*)" | "(.*)$")
}

/// Returns a regex that matches exactly this text. Control characters in it are escaped, because [`quoted`] removes
/// them.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        if letter.is_control() {
            for byte in letter.encode_utf8(&mut [0; 4]).bytes() {
                let _ = write!(out, "\\x{byte:02x}");
            }
            continue;
        }
        if "\\.+*?()[]{}|^$".contains(letter) {
            out.push('\\');
        }
        out.push(letter);
    }
    out
}

/// Returns whether a name has wildcards, or a backslash.
pub(crate) fn is_glob(name: &str) -> bool {
    name.contains(['*', '?', '[', '\\'])
}

/// Converts a file name with the wildcards `*` and `?`, which do not match `/`, to a regex. Returns an error text if it
/// contains `[` or a backslash.
pub(crate) fn glob_regex(glob: &str) -> Result<String, String> {
    let mut out = String::new();
    for letter in glob.chars() {
        match letter {
            '*' => out.push_str("[^/]*"),
            '?' => out.push_str("[^/]"),
            '[' | '\\' => return Err("only the wildcards * and ? are translated: write a regex".into()),
            letter => out.push_str(&escaped(&letter.to_string())),
        }
    }
    Ok(out)
}

/// Iterator over the characters of a regex that are neither escaped nor in brackets, each with its position.
struct UnescapedChars<'p> {
    letters: Peekable<CharIndices<'p>>,
    in_brackets: bool,
    /// True within a class such as `[:alpha:]`.
    in_class: bool,
    is_escaped: bool,
}

fn outside(pattern: &str) -> UnescapedChars<'_> {
    let letters = pattern.char_indices().peekable();
    UnescapedChars { letters, in_brackets: false, in_class: false, is_escaped: false }
}

impl UnescapedChars<'_> {
    fn steps_over(&mut self, wanted: char) -> bool {
        self.letters.next_if(|(_, letter)| *letter == wanted).is_some()
    }
}

impl Iterator for UnescapedChars<'_> {
    type Item = (usize, char);

    fn next(&mut self) -> Option<(usize, char)> {
        while let Some((at, letter)) = self.letters.next() {
            match letter {
                _ if self.is_escaped => self.is_escaped = false,
                '\\' => self.is_escaped = true,
                '[' if self.in_brackets => self.in_class |= self.steps_over(':'),
                ':' if self.in_class => self.in_class = !self.steps_over(']'),
                '[' => {
                    self.in_brackets = true;
                    // A `]` directly after `[` or `[^` does not close the brackets.
                    self.steps_over('^');
                    self.steps_over(']');
                }
                ']' if self.in_brackets => (self.in_brackets, self.in_class) = (false, false),
                _ if self.in_brackets => {}
                _ => return Some((at, letter)),
            }
        }
        None
    }
}

/// Splits a regex into its alternatives, at each `|` outside of groups and brackets.
pub(crate) fn split(pattern: &str) -> Vec<&str> {
    let (mut parts, mut start, mut depth) = (Vec::new(), 0, 0_usize);
    for (at, letter) in outside(pattern) {
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            '|' if depth == 0 => {
                parts.push(&pattern[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&pattern[start..]);
    parts
}

/// Returns whether a regex contains a `^` that is neither escaped nor in brackets.
fn has_anchor(pattern: &str) -> bool {
    outside(pattern).any(|(_, letter)| letter == '^')
}

/// Returns whether brackets and groups of a regex are balanced and its last character is not an unescaped backslash, so
/// that it can be written as a word of the configuration.
pub(crate) fn is_balanced(pattern: &str) -> bool {
    let (mut letters, mut depth) = (outside(pattern), 0_i32);
    for (_, letter) in letters.by_ref() {
        match letter {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        if depth < 0 {
            return false;
        }
    }
    depth == 0 && !letters.in_brackets && !letters.is_escaped
}

/// Quotes a text as a word of the configuration language; control characters are removed. A backslash is doubled where
/// the language would interpret it.
pub fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    // Control characters are removed first: one between a backslash and a quote would hide that the backslash precedes
    // the quote.
    let mut letters = text.chars().filter(|letter| !letter.is_control()).peekable();
    while let Some(letter) = letters.next() {
        match (letter, letters.peek()) {
            ('"', _) => out.push_str("\\\""),
            ('\\', None) => out.push_str("\\\\"),
            ('\\', Some('\\' | '"' | '\'' | 't' | 'r' | 'n')) => {
                out.push_str("\\\\");
                if letters.peek() == Some(&'\\') {
                    letters.next();
                    out.push_str("\\\\");
                }
            }
            (letter, _) => out.push(letter),
        }
    }
    out + "\""
}

/// Returns a text as a word of the configuration language: without quotes if all its characters are plain, otherwise
/// quoted ([`quoted`]).
pub(crate) fn word(text: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "/._-:$=?&*+@,%".contains(letter);
    if !text.is_empty() && text.chars().all(is_plain) { text.to_owned() } else { quoted(text) }
}
