//! Tokens of a script (ECMAScript 2025, section 12).
//!
//! A slash divides or starts a regular expression, depending on the syntax before it. It is decided where one or two
//! tokens are sufficient; otherwise the script is refused. The tokens are therefore exactly those of a complete parser.

use std::ops::Range;

use super::JsRefusal;

/// Token of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct JsToken {
    pub(super) range: Range<usize>,
    pub(super) kind: JsKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum JsKind {
    /// Identifier, keyword or private name (`#name`).
    Word,
    Number,
    String,
    Regex,
    /// Part of a template between `` ` ``, `${` and `}`, with these.
    Template,
    Punctuator,
    /// White space without a line break.
    Blank,
    /// White space with a line break.
    LineBreak,
    /// Comment without a line break; one that starts with `//` excludes the line break after it.
    Comment,
    /// Comment of more than one line.
    LongComment,
}

impl JsKind {
    pub(super) fn is_trivia(self) -> bool {
        matches!(self, Self::Blank | Self::LineBreak | Self::Comment | Self::LongComment)
    }
}

/// Punctuators, longer ones before their prefixes.
const PUNCTUATORS: [&str; 56] = [
    ">>>=", "...", "===", "!==", "**=", "<<=", ">>=", ">>>", "&&=", "||=", "??=", "=>", "==", "!=", "<=",
    ">=", "&&", "||", "??", "?.", "++", "--", "+=", "-=", "*=", "%=", "&=", "|=", "^=", "<<", ">>", "**",
    "{", "}", "(", ")", "[", "]", ";", ",", "<", ">", "+", "-", "*", "%", "&", "|", "^", "!", "~", "?", ":",
    "=", ".", "@",
];
/// Keywords after which an expression starts.
const BEFORE_EXPRESSION: [&str; 14] = [
    "return",
    "typeof",
    "case",
    "in",
    "instanceof",
    "delete",
    "void",
    "new",
    "do",
    "else",
    "throw",
    "default",
    "extends",
    "export",
];
/// Words that are keywords only in some places.
const CONTEXTUAL: [&str; 4] = ["yield", "await", "of", "let"];

/// Meaning that a slash has if it follows the tokens read so far.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Slash {
    Divides,
    StartsRegex,
    Unknown,
}

/// Splits a script into tokens, which together are the whole text. Returns an error if it is not understood.
pub(super) fn lex(text: &str) -> Result<Vec<JsToken>, JsRefusal> {
    let mut lexer = Lexer {
        text,
        at: 0,
        tokens: Vec::new(),
        slash: Slash::StartsRegex,
        brackets: Vec::new(),
        before: "",
    };
    while lexer.at < text.len() {
        lexer.step()?;
    }
    if lexer.brackets.is_empty() { Ok(lexer.tokens) } else { Err(JsRefusal::Malformed(text.len())) }
}

/// Bracket whose closing bracket has not been read.
struct Bracket {
    opens: u8,
    /// True for a `${` in a template, which a `}` closes.
    is_template: bool,
    /// True for the parenthesis of `if`, `while`, `for` or `with`, after which a statement starts.
    is_condition: bool,
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
    tokens: Vec<JsToken>,
    slash: Slash,
    brackets: Vec<Bracket>,
    /// Last token other than white space and comments.
    before: &'a str,
}

impl Lexer<'_> {
    fn push(&mut self, end: usize, kind: JsKind) {
        if !kind.is_trivia() {
            self.before = &self.text[self.at..end];
        }
        self.tokens.push(JsToken { range: self.at..end, kind });
        self.at = end;
    }

    fn step(&mut self) -> Result<(), JsRefusal> {
        let rest = &self.text[self.at..];
        let first = rest.chars().next().unwrap_or(' ');
        if is_white_space(first) {
            let end = self.at + rest.find(|c| !is_white_space(c)).unwrap_or(rest.len());
            let has_line = self.text[self.at..end].contains(is_line_end);
            self.push(end, if has_line { JsKind::LineBreak } else { JsKind::Blank });
            return Ok(());
        }
        match first {
            '/' => self.slash(rest),
            '"' | '\'' => self.string(rest, first),
            '`' => self.template(),
            '0'..='9' => self.number(rest),
            '.' if rest[1..].starts_with(|c: char| c.is_ascii_digit()) => self.number(rest),
            '#' | '\\' => self.word(rest),
            _ if is_word(first) => self.word(rest),
            _ => self.punctuator(rest),
        }
    }

    fn slash(&mut self, rest: &str) -> Result<(), JsRefusal> {
        if rest.starts_with("//") {
            let end = self.at + rest.find(is_line_end).unwrap_or(rest.len());
            self.push(end, JsKind::Comment);
            return Ok(());
        }
        if let Some(inner) = rest.strip_prefix("/*") {
            let end = inner.find("*/").ok_or(JsRefusal::Malformed(self.at))?;
            let is_long = inner[..end].contains(is_line_end);
            self.push(self.at + end + 4, if is_long { JsKind::LongComment } else { JsKind::Comment });
            return Ok(());
        }
        match self.slash {
            Slash::Unknown => Err(JsRefusal::AmbiguousSlash(self.at)),
            Slash::Divides => {
                let length = if rest.starts_with("/=") { 2 } else { 1 };
                self.push(self.at + length, JsKind::Punctuator);
                self.slash = Slash::StartsRegex;
                Ok(())
            }
            Slash::StartsRegex => self.regex(rest),
        }
    }

    fn regex(&mut self, rest: &str) -> Result<(), JsRefusal> {
        let (mut is_class, mut is_escaped) = (false, false);
        for (at, c) in rest.char_indices().skip(1) {
            match c {
                _ if is_line_end(c) => break,
                _ if is_escaped => is_escaped = false,
                '\\' => is_escaped = true,
                '[' => is_class = true,
                ']' => is_class = false,
                '/' if !is_class => {
                    let flags = &rest[at + 1..];
                    let length = flags.find(|c: char| !is_word(c)).unwrap_or(flags.len());
                    self.push(self.at + at + 1 + length, JsKind::Regex);
                    self.slash = Slash::Divides;
                    return Ok(());
                }
                _ => {}
            }
        }
        Err(JsRefusal::Malformed(self.at))
    }

    fn string(&mut self, rest: &str, quote: char) -> Result<(), JsRefusal> {
        let mut characters = rest.char_indices().skip(1);
        while let Some((at, c)) = characters.next() {
            match c {
                '\\' => {
                    characters.next();
                }
                '\n' | '\r' => break,
                _ if c == quote => {
                    // After `import 'a'` and a line break, a statement starts.
                    let ends_import = matches!(self.before, "from" | "import");
                    self.push(self.at + at + 1, JsKind::String);
                    self.slash = if ends_import { Slash::Unknown } else { Slash::Divides };
                    return Ok(());
                }
                _ => {}
            }
        }
        Err(JsRefusal::Malformed(self.at))
    }

    /// Reads a part of a template, from `` ` `` or `}` to `` ` `` or `${`.
    fn template(&mut self) -> Result<(), JsRefusal> {
        let rest = &self.text[self.at..];
        let mut characters = rest.char_indices().skip(1).peekable();
        while let Some((at, c)) = characters.next() {
            match c {
                '\\' => {
                    characters.next();
                }
                '`' => {
                    self.push(self.at + at + 1, JsKind::Template);
                    self.slash = Slash::Divides;
                    return Ok(());
                }
                '$' if characters.peek().is_some_and(|(_, next)| *next == '{') => {
                    self.push(self.at + at + 2, JsKind::Template);
                    self.brackets.push(Bracket { opens: b'{', is_template: true, is_condition: false });
                    self.slash = Slash::StartsRegex;
                    return Ok(());
                }
                _ => {}
            }
        }
        Err(JsRefusal::Malformed(self.at))
    }

    fn number(&mut self, rest: &str) -> Result<(), JsRefusal> {
        let bytes = rest.as_bytes();
        let is_radix = bytes[0] == b'0' && bytes.get(1).is_some_and(|byte| b"xXoObB".contains(byte));
        let mut end = 0;
        let mut has_point = false;
        while end < bytes.len() {
            let byte = bytes[end];
            let is_exponent = !is_radix && end > 0 && matches!(bytes[end - 1], b'e' | b'E');
            match byte {
                b'.' if !has_point
                    && !is_radix
                    && !rest[..end].contains(['e', 'E', 'n'])
                    && !is_old_octal(&rest[..end]) =>
                {
                    has_point = true;
                }
                b'+' | b'-' if is_exponent => {}
                _ if byte.is_ascii_alphanumeric() || byte == b'_' => {}
                _ => break,
            }
            end += 1;
        }
        // A name must not follow a number directly.
        if rest[end..].starts_with(|c: char| is_word(c) || c == '\\') {
            return Err(JsRefusal::Malformed(self.at));
        }
        self.push(self.at + end, JsKind::Number);
        self.slash = Slash::Divides;
        Ok(())
    }

    fn word(&mut self, rest: &str) -> Result<(), JsRefusal> {
        // Escapes in names are rare, and would need to be decoded to recognize keywords.
        let start = usize::from(rest.starts_with('#'));
        let length = start + rest[start..].find(|c: char| !is_word(c)).unwrap_or(rest.len() - start);
        if length == start || rest[length..].starts_with('\\') {
            return Err(JsRefusal::Malformed(self.at));
        }
        let word = &rest[..length];
        let is_property = matches!(self.before, "." | "?.") || start == 1;
        self.slash = if is_property {
            Slash::Divides
        } else if BEFORE_EXPRESSION.contains(&word) {
            Slash::StartsRegex
        } else if CONTEXTUAL.contains(&word)
            || is_jump(word)
            || is_jump(self.before)
            || is_condition_word(word)
        {
            Slash::Unknown
        } else {
            Slash::Divides
        };
        self.push(self.at + length, JsKind::Word);
        Ok(())
    }

    fn punctuator(&mut self, rest: &str) -> Result<(), JsRefusal> {
        let found = PUNCTUATORS.iter().find(|mark| rest.starts_with(**mark)).copied();
        let mark = found.ok_or(JsRefusal::Malformed(self.at))?;
        // `a?.5:b` is a condition.
        let mark =
            if mark == "?." && rest[2..].starts_with(|c: char| c.is_ascii_digit()) { "?" } else { mark };
        let slash = match mark {
            "(" | "[" | "{" => {
                let is_condition = mark == "(" && self.is_after_condition_word();
                self.brackets.push(Bracket { opens: mark.as_bytes()[0], is_template: false, is_condition });
                Slash::StartsRegex
            }
            ")" | "]" | "}" => {
                let closed = self.brackets.pop().ok_or(JsRefusal::Malformed(self.at))?;
                if !matches!((closed.opens, mark), (b'(', ")") | (b'[', "]") | (b'{', "}")) {
                    return Err(JsRefusal::Malformed(self.at));
                }
                if closed.is_template {
                    return self.template();
                }
                match mark {
                    "}" => Slash::Unknown,
                    ")" if closed.is_condition => Slash::StartsRegex,
                    _ => Slash::Divides,
                }
            }
            "++" | "--" => Slash::Unknown,
            _ => Slash::StartsRegex,
        };
        self.push(self.at + mark.len(), JsKind::Punctuator);
        self.slash = slash;
        Ok(())
    }

    /// Returns whether the last tokens are `if`, `while`, `for`, `for await` or `with`, and no `.` or `?.` precedes them,
    /// as in the name of a property. The name in a method definition also counts.
    fn is_after_condition_word(&self) -> bool {
        let mut words = self.tokens.iter().rev().filter(|token| !token.kind.is_trivia());
        let mut next = || words.next().map_or("", |token| &self.text[token.range.clone()]);
        let mut last = next();
        if last == "await" {
            last = next();
        }
        is_condition_word(last) && !matches!(next(), "." | "?.")
    }
}

fn is_condition_word(word: &str) -> bool {
    matches!(word, "if" | "while" | "for" | "with")
}

/// Returns whether `word` starts a statement that a line break terminates, even after a label: `break`, `continue` or
/// `debugger`.
fn is_jump(word: &str) -> bool {
    matches!(word, "break" | "continue" | "debugger")
}

/// Returns whether `digits` are an octal number of old scripts, such as `017`. A point after such a number is not a
/// decimal point: it precedes the name of a property.
fn is_old_octal(digits: &str) -> bool {
    digits.len() > 1 && digits.starts_with('0') && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns whether two tokens without a space between them start with a longer punctuator than the first one.
pub(super) fn joins_punctuators(before: &str, after: &str) -> bool {
    let mut joined = before.to_owned();
    joined.extend(after.chars().take(3));
    PUNCTUATORS.iter().any(|mark| mark.len() > before.len() && joined.starts_with(mark))
}

/// Returns whether a character may be part of a name. Characters outside of ASCII are not checked further.
pub(super) fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '$' | '_') || !c.is_ascii() && !is_white_space(c)
}

pub(super) fn is_line_end(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{2028}' | '\u{2029}')
}

fn is_white_space(c: char) -> bool {
    matches!(
        c,
        '\t' | '\u{b}' | '\u{c}' | ' ' | '\u{a0}' | '\u{feff}' | '\u{1680}' | '\u{2000}'
            ..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}'
    ) || is_line_end(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lexed(text: &str) -> Result<Vec<String>, JsRefusal> {
        let tokens = lex(text)?;
        assert_eq!(tokens.iter().map(|token| &text[token.range.clone()]).collect::<String>(), text);
        let significant = tokens.iter().filter(|token| !token.kind.is_trivia());
        let of_kind = |token: &JsToken| {
            let mark = match token.kind {
                JsKind::Regex => "re:",
                JsKind::Template => "t:",
                JsKind::Number => "n:",
                _ => "",
            };
            format!("{mark}{}", &text[token.range.clone()])
        };
        Ok(significant.map(of_kind).collect())
    }

    #[test]
    fn slashes_are_understood_where_it_is_certain() {
        for (text, expected) in [
            ("a/b/c", &["a", "/", "b", "/", "c"][..]),
            ("a=/b/g", &["a", "=", "re:/b/g"]),
            ("a(/[/'\"]/)", &["a", "(", "re:/[/'\"]/", ")"]),
            ("(a)/b/c", &["(", "a", ")", "/", "b", "/", "c"]),
            ("if(a)/b/.c()", &["if", "(", "a", ")", "re:/b/", ".", "c", "(", ")"]),
            ("x.if(a)/b/c", &["x", ".", "if", "(", "a", ")", "/", "b", "/", "c"]),
            ("return/a/", &["return", "re:/a/"]),
            ("x.return/a/1", &["x", ".", "return", "/", "a", "/", "n:1"]),
            ("a[0]/2", &["a", "[", "n:0", "]", "/", "n:2"]),
            ("this/2", &["this", "/", "n:2"]),
            ("/\\//.b", &["re:/\\//", ".", "b"]),
            ("a/=b", &["a", "/=", "b"]),
            ("`a${b/`/`/c}d/`/e", &["t:`a${", "b", "/", "t:`/`", "/", "c", "t:}d/`", "/", "e"]),
            ("`${{a:`}`}}`", &["t:`${", "{", "a", ":", "t:`}`", "}", "t:}`"]),
            (
                "1..a+.5+0x1f.b-1e-3.toFixed",
                &["n:1.", ".", "a", "+", "n:.5", "+", "n:0x1f", ".", "b", "-", "n:1e-3", ".", "toFixed"],
            ),
            ("017.a", &["n:017", ".", "a"]),
            ("a?.5:b?.c", &["a", "?", "n:.5", ":", "b", "?.", "c"]),
            ("a=>b>>>=c**d", &["a", "=>", "b", ">>>=", "c", "**", "d"]),
            ("'a\\'b\\\nc'+\"//\"", &["'a\\'b\\\nc'", "+", "\"//\""]),
            ("#a in b", &["#a", "in", "b"]),
        ] {
            assert_eq!(
                lexed(text).as_deref(),
                Ok(expected.iter().map(|t| (*t).to_owned()).collect::<Vec<_>>().as_slice()),
                "{text}"
            );
        }
    }

    #[test]
    fn doubtful_scripts_are_refused() {
        for (text, at) in [
            ("a++/b/c", 3),
            ("{}/a/", 2),
            ("yield/a/", 5),
            ("if/a/", 2),
            ("x={}/2", 4),
            ("break a\n/b/", 8),
            ("import'a'\n/b/", 10),
        ] {
            assert_eq!(lexed(text), Err(JsRefusal::AmbiguousSlash(at)), "{text}");
        }
        for text in [
            "'a", "'a\nb'", "`a", "`${", "/a", "a=/b\n/", "(]", "(", ")", "/* a", "\\u0061", "a\\u0061",
            "\u{1}", "#", "`${)",
        ] {
            assert!(matches!(lexed(text), Err(JsRefusal::Malformed(_))), "{text}: {:?}", lexed(text));
        }
    }
}
