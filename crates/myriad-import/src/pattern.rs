//! Regexes of Apache, which knows a path without the folder of its `.htaccess`, for nginx, which knows it whole; and quoting.

/// Regex of a rule of a folder for the whole path: `^a|b` of `/blog/` is `^/blog/a|^/blog/.*?b`. `None` if a `^` stands within a group.
pub(crate) fn whole(pattern: &str, base: &str) -> Option<String> {
    let base = escaped(base);
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

/// Whether a regex holds for every text.
pub(crate) fn is_any(pattern: &str) -> bool {
    matches!(pattern, "" | "^" | "$" | ".*" | "^.*" | "^.*$" | ".*$" | "(.*)" | "^(.*)$" | "^(.*)" | "(.*)$")
}

/// Text as a regex that is this text.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        if "\\.+*?()[]{}|^$".contains(letter) {
            out.push('\\');
        }
        out.push(letter);
    }
    out
}

/// Whether a name has wildcards.
pub(crate) fn is_glob(name: &str) -> bool {
    name.contains(['*', '?', '[', '\\'])
}

/// Regex of a name with `*` and `?`, which match no `/`, as sections have it; the error is a sentence.
pub(crate) fn of_glob(glob: &str) -> Result<String, String> {
    let mut out = String::new();
    for letter in glob.chars() {
        match letter {
            '*' => out.push_str("[^/]*"),
            '?' => out.push_str("[^/]"),
            '[' | '\\' => return Err("of wildcards only * and ? are told: write a regex".into()),
            letter => out.push_str(&escaped(&letter.to_string())),
        }
    }
    Ok(out)
}

/// Alternatives of a regex outside of groups and brackets.
fn split(pattern: &str) -> Vec<&str> {
    let (mut parts, mut start, mut depth, mut bracket, mut after) = (Vec::new(), 0, 0_usize, false, false);
    for (at, letter) in pattern.char_indices() {
        match letter {
            _ if after => after = false,
            '\\' => after = true,
            '[' => bracket = true,
            ']' => bracket = false,
            '(' if !bracket => depth += 1,
            ')' if !bracket => depth = depth.saturating_sub(1),
            '|' if !bracket && depth == 0 => {
                parts.push(&pattern[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&pattern[start..]);
    parts
}

/// Whether a `^` stands in a regex that is neither escaped nor the first of a bracket.
fn has_anchor(pattern: &str) -> bool {
    let (mut bracket, mut after) = (false, false);
    for letter in pattern.chars() {
        match letter {
            _ if after => after = false,
            '\\' => after = true,
            '[' => bracket = true,
            ']' => bracket = false,
            '^' if !bracket => return true,
            _ => {}
        }
    }
    false
}

/// Number of groups that capture.
pub(crate) fn groups(pattern: &str) -> usize {
    let (mut count, mut bracket, mut after) = (0, false, false);
    let letters: Vec<char> = pattern.chars().collect();
    for (at, letter) in letters.iter().enumerate() {
        match letter {
            _ if after => after = false,
            '\\' => after = true,
            '[' => bracket = true,
            ']' => bracket = false,
            '(' if !bracket && letters.get(at + 1) != Some(&'?') => count += 1,
            _ => {}
        }
    }
    count
}

/// Whether brackets and groups of a regex are balanced, so that it can be a word of the configuration.
pub(crate) fn is_balanced(pattern: &str) -> bool {
    let (mut depth, mut bracket, mut after) = (0_i32, false, false);
    for letter in pattern.chars() {
        match letter {
            _ if after => after = false,
            '\\' => after = true,
            '[' => bracket = true,
            ']' => bracket = false,
            '(' if !bracket => depth += 1,
            ')' if !bracket => depth -= 1,
            _ => {}
        }
        if depth < 0 {
            return false;
        }
    }
    depth == 0 && !bracket && !after
}

/// Word of the nginx language in double quotes. A backslash is doubled where the language would take it for itself.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    // Control characters go first: one that stood between a backslash and a quote would hide what the backslash does.
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

/// The same, bare where that reads better.
pub(crate) fn word(text: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "/._-:$=?&*+@,%".contains(letter);
    if !text.is_empty() && text.chars().all(is_plain) { text.to_owned() } else { quoted(text) }
}
