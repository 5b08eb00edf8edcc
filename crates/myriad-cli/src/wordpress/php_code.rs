//! Tokenizer for PHP code that is sufficient to read constants: it skips comments and white space.

/// Token of PHP code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PhpToken {
    /// String in single or double quotes; escaped quotes and backslashes are resolved, other escapes are unchanged.
    Text(String),
    /// Name, number or keyword.
    Word(String),
    /// Any other character except white space.
    Sign(char),
}

impl PhpToken {
    /// Returns the contents if the token is a string; otherwise `None`.
    pub(super) fn text(&self) -> Option<String> {
        match self {
            Self::Text(text) => Some(text.clone()),
            _ => None,
        }
    }

    fn is_word(&self, word: &str) -> bool {
        matches!(self, Self::Word(own) if own.eq_ignore_ascii_case(word))
    }
}

/// PHP code as a list of tokens.
pub(super) struct PhpCode(Vec<PhpToken>);

impl PhpCode {
    /// Parses code. A comment or string that is not closed includes the rest of the text.
    pub(super) fn new(text: &str) -> Self {
        let (mut tokens, mut rest) = (Vec::new(), text);
        while let Some(first) = rest.chars().next() {
            rest = match first {
                '#' if !rest.starts_with("#[") => text_after(rest, "\n"),
                '/' if rest.starts_with("//") => text_after(rest, "\n"),
                '/' if rest.starts_with("/*") => text_after(&rest[2..], "*/"),
                '\'' | '"' => {
                    let (text, rest) = string(&rest[1..], first);
                    tokens.push(PhpToken::Text(text));
                    rest
                }
                _ if first.is_alphanumeric() || first == '_' => {
                    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
                    let end = rest.find(|letter| !is_part(letter)).unwrap_or(rest.len());
                    tokens.push(PhpToken::Word(rest[..end].to_owned()));
                    &rest[end..]
                }
                _ => {
                    if !first.is_whitespace() {
                        tokens.push(PhpToken::Sign(first));
                    }
                    &rest[first.len_utf8()..]
                }
            };
        }
        Self(tokens)
    }

    /// Returns the contents of all strings.
    pub(super) fn texts(&self) -> impl Iterator<Item = String> + '_ {
        self.0.iter().filter_map(PhpToken::text)
    }

    /// Returns the tokens of a constant's value, from the first `define('NAME', VALUE)` or `const NAME = VALUE`; `None`
    /// if the constant is not defined.
    pub(super) fn defined(&self, name: &str) -> Option<&[PhpToken]> {
        let is = |at: usize, token: &PhpToken| self.0.get(at) == Some(token);
        let starts = (0..self.0.len()).filter_map(|at| {
            let is_text = |at: usize| matches!(&self.0.get(at), Some(PhpToken::Text(text)) if text == name);
            if self.0[at].is_word("define")
                && is(at + 1, &PhpToken::Sign('('))
                && is_text(at + 2)
                && is(at + 3, &PhpToken::Sign(','))
            {
                return Some(at + 4);
            }
            let is_constant = self.0[at].is_word("const")
                && is(at + 1, &PhpToken::Word(name.to_owned()))
                && is(at + 2, &PhpToken::Sign('='));
            is_constant.then_some(at + 3)
        });
        starts.map(|start| value(&self.0[start..])).next()
    }

    /// Returns whether a constant is defined as `true` or `1`.
    pub(super) fn is_true(&self, name: &str) -> bool {
        matches!(self.defined(name), Some([token]) if token.is_word("true") || token.is_word("1"))
    }
}

/// Returns the tokens of an expression, up to a `,`, `;` or closing bracket that is not inside of brackets of the
/// expression.
fn value(tokens: &[PhpToken]) -> &[PhpToken] {
    let mut depth = 0_usize;
    let end = tokens.iter().position(|token| match token {
        PhpToken::Sign('(' | '[') => {
            depth += 1;
            false
        }
        PhpToken::Sign(')' | ']') if depth > 0 => {
            depth -= 1;
            false
        }
        PhpToken::Sign(sign) => depth == 0 && matches!(sign, ')' | ']' | ',' | ';'),
        _ => false,
    });
    &tokens[..end.unwrap_or(tokens.len())]
}

fn text_after<'t>(text: &'t str, end: &str) -> &'t str {
    text.split_once(end).map_or("", |(_, rest)| rest)
}

/// Parses a string up to its closing quote. Returns its contents and the rest of the text.
fn string(text: &str, quote: char) -> (String, &str) {
    let (mut out, mut letters) = (String::new(), text.char_indices());
    while let Some((at, letter)) = letters.next() {
        if letter == quote {
            return (out, &text[at + 1..]);
        }
        if letter == '\\' {
            match letters.next() {
                Some((_, escaped)) if escaped == quote || escaped == '\\' => out.push(escaped),
                Some((_, other)) => out.extend(['\\', other]),
                None => {}
            }
        } else {
            out.push(letter);
        }
    }
    (out, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_are_read_over_several_lines_and_not_from_comments_or_strings() {
        let code = PhpCode::new(
            "<?php\n/* define('MULTISITE', true); */ # define('A', 1)\n// define('B', 1);\n\
             if (true) { define(\n    'SUBDOMAIN_INSTALL', // every site has a name\n    TRUE\n); }\n\
             Config::define('C', 1); const D = true;\n$x = \"define('E', true)\"; define('F', false); define('G', ! true);\n\
             define('DIR', dirname(__FILE__, 2) . '/content');",
        );
        for name in ["SUBDOMAIN_INSTALL", "C", "D"] {
            assert!(code.is_true(name), "{name}");
        }
        for name in ["MULTISITE", "A", "B", "E", "F", "G", "SUBDOMAIN"] {
            assert!(!code.is_true(name), "{name}");
        }
        let value = code.defined("DIR").expect("a value");
        assert_eq!(value.last(), Some(&PhpToken::Text("/content".to_owned())));
        assert!(PhpCode::new("<?php define('X', 'it\\'s').\"open").texts().any(|text| text == "it's"));
    }
}
