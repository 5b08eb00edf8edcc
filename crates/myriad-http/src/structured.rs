//! Structured fields (RFC 9651): strict parser for dictionaries, as in targeted cache control (RFC 9213),
//! `No-Vary-Search` and `Priority`.

use crate::token::is_tchar;

/// Value of a dictionary member in a structured field (RFC 9651). Types that no caller needs are combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StructuredValue<'a> {
    /// Key without a value, or the boolean `?1`.
    True,
    /// Boolean `?0`.
    False,
    /// Integer of up to fifteen digits.
    Integer(i64),
    /// String without its quotes, with escapes not decoded.
    String(&'a [u8]),
    /// Token, such as a media type: text without quotes.
    Token(&'a [u8]),
    /// Inner list without its parentheses; parse it with [`strings`].
    List(&'a [u8]),
    /// Decimal, byte sequence, date or display string; the value is not available.
    Other,
}

/// Returns the strings of an inner list in a result of [`dictionary`], with escapes decoded; `None` if an item of the
/// list is not a string or is malformed.
pub fn strings(list: &[u8]) -> Option<Vec<Vec<u8>>> {
    let mut rest = StructuredParser(list);
    let mut strings = Vec::new();
    loop {
        rest.skip_blanks();
        if rest.0.is_empty() {
            return Some(strings);
        }
        let StructuredValue::String(text) = rest.bare_item()? else { return None };
        rest.parameters()?;
        let mut escaped = false;
        let is_text = |byte: &u8| {
            escaped = *byte == b'\\' && !escaped;
            !escaped
        };
        strings.push(text.iter().copied().filter(is_text).collect());
    }
}

/// Parses a dictionary (RFC 9651 §4.2.2) into keys and values. The last value of a repeated key counts, at the position
/// of its first occurrence.
///
/// Returns `None` for a syntax error, after which the whole field must be ignored.
pub fn dictionary(text: &[u8]) -> Option<Vec<(&[u8], StructuredValue<'_>)>> {
    let mut members: Vec<(&[u8], StructuredValue<'_>)> = Vec::new();
    let mut rest = StructuredParser(trim_spaces(text));
    while !rest.0.is_empty() {
        let key = rest.key()?;
        let value = if rest.skip_byte(b'=') { rest.member()? } else { StructuredValue::True };
        rest.parameters()?;
        match members.iter_mut().find(|(known, _)| *known == key) {
            Some(member) => member.1 = value,
            None => members.push((key, value)),
        }
        rest.skip_blanks();
        if rest.0.is_empty() {
            break;
        }
        if !rest.skip_byte(b',') {
            return None;
        }
        rest.skip_blanks();
        // A trailing comma is an error.
        if rest.0.is_empty() {
            return None;
        }
    }
    Some(members)
}

/// Removes leading and trailing spaces. Tabs are not allowed there.
fn trim_spaces(mut text: &[u8]) -> &[u8] {
    while let [b' ', rest @ ..] = text {
        text = rest;
    }
    while let [rest @ .., b' '] = text {
        text = rest;
    }
    text
}

/// Remaining input of the structured field parser.
struct StructuredParser<'a>(&'a [u8]);

impl<'a> StructuredParser<'a> {
    fn skip_byte(&mut self, byte: u8) -> bool {
        let taken = self.0.first() == Some(&byte);
        if taken {
            self.0 = &self.0[1..];
        }
        taken
    }

    fn take_while_class(&mut self, class: impl Fn(u8) -> bool) -> &'a [u8] {
        let end = self.0.iter().position(|byte| !class(*byte)).unwrap_or(self.0.len());
        let (taken, rest) = self.0.split_at(end);
        self.0 = rest;
        taken
    }

    fn skip_blanks(&mut self) {
        self.take_while_class(|byte| matches!(byte, b' ' | b'\t'));
    }

    fn key(&mut self) -> Option<&'a [u8]> {
        let begins = matches!(self.0.first()?, b'a'..=b'z' | b'*');
        let key = self
            .take_while_class(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-' | b'.' | b'*'));
        begins.then_some(key)
    }

    fn member(&mut self) -> Option<StructuredValue<'a>> {
        if !self.skip_byte(b'(') {
            return self.bare_item();
        }
        let list = self.0;
        loop {
            self.take_while_class(|byte| byte == b' ');
            let length = list.len() - self.0.len();
            if self.skip_byte(b')') {
                return Some(StructuredValue::List(&list[..length]));
            }
            self.bare_item()?;
            self.parameters()?;
            if !matches!(self.0.first(), Some(b' ' | b')')) {
                return None;
            }
        }
    }

    fn parameters(&mut self) -> Option<()> {
        while self.skip_byte(b';') {
            self.take_while_class(|byte| byte == b' ');
            self.key()?;
            if self.skip_byte(b'=') {
                self.bare_item()?;
            }
        }
        Some(())
    }

    fn bare_item(&mut self) -> Option<StructuredValue<'a>> {
        match *self.0.first()? {
            b'-' | b'0'..=b'9' => self.number(),
            b'"' => self.string(),
            b'?' => self.boolean(),
            b':' => {
                self.0 = &self.0[1..];
                self.take_while_class(|byte| {
                    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=')
                });
                self.skip_byte(b':').then_some(StructuredValue::Other)
            }
            b'@' => {
                self.0 = &self.0[1..];
                self.number()
                    .filter(|number| matches!(number, StructuredValue::Integer(_)))
                    .map(|_| StructuredValue::Other)
            }
            b'%' => {
                self.0 = &self.0[1..];
                self.string().map(|_| StructuredValue::Other)
            }
            byte if byte.is_ascii_alphabetic() || byte == b'*' => {
                Some(StructuredValue::Token(self.take_while_class(is_token_byte)))
            }
            _ => None,
        }
    }

    fn number(&mut self) -> Option<StructuredValue<'a>> {
        let negative = self.skip_byte(b'-');
        let digits = self.take_while_class(|byte| byte.is_ascii_digit());
        if digits.is_empty() {
            return None;
        }
        if self.skip_byte(b'.') {
            let fraction = self.take_while_class(|byte| byte.is_ascii_digit());
            let fits = digits.len() <= 12 && (1..=3).contains(&fraction.len());
            return fits.then_some(StructuredValue::Other);
        }
        // RFC 9651 §3.3.1: at most fifteen digits. The limit also prevents an overflow.
        if digits.len() > 15 {
            return None;
        }
        let number = digits.iter().fold(0, |sum, digit| sum * 10 + i64::from(digit - b'0'));
        Some(StructuredValue::Integer(if negative { -number } else { number }))
    }

    fn string(&mut self) -> Option<StructuredValue<'a>> {
        if !self.skip_byte(b'"') {
            return None;
        }
        let text = self.0;
        let mut at = 0;
        loop {
            match *text.get(at)? {
                b'"' => break,
                b'\\' if matches!(text.get(at + 1), Some(b'"' | b'\\')) => at += 2,
                b' '..=b'[' | b']'..=b'~' => at += 1,
                _ => return None,
            }
        }
        self.0 = &text[at + 1..];
        Some(StructuredValue::String(&text[..at]))
    }

    fn boolean(&mut self) -> Option<StructuredValue<'a>> {
        self.skip_byte(b'?');
        if self.skip_byte(b'1') {
            return Some(StructuredValue::True);
        }
        self.skip_byte(b'0').then_some(StructuredValue::False)
    }
}

fn is_token_byte(byte: u8) -> bool {
    is_tchar(byte) || matches!(byte, b':' | b'/')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<Vec<(String, StructuredValue<'_>)>> {
        let members = dictionary(text.as_bytes())?;
        Some(members.into_iter().map(|(key, value)| (String::from_utf8_lossy(key).into(), value)).collect())
    }

    fn one(text: &str) -> Option<StructuredValue<'_>> {
        let mut members = read(text)?;
        assert_eq!(members.len(), 1, "{text}");
        members.pop().map(|(_, value)| value)
    }

    #[test]
    fn each_value_type_is_parsed() {
        assert_eq!(one("a"), Some(StructuredValue::True));
        assert_eq!(one("a=?1"), Some(StructuredValue::True));
        assert_eq!(one("a=?0"), Some(StructuredValue::False));
        assert_eq!(one("a=60"), Some(StructuredValue::Integer(60)));
        assert_eq!(one("a=-60;b=1; c"), Some(StructuredValue::Integer(-60)));
        assert_eq!(one("a=\"x \\\"y\""), Some(StructuredValue::String(b"x \\\"y")));
        assert_eq!(one("a=tok/en"), Some(StructuredValue::Token(b"tok/en")));
        for other in ["a=1.5", "a=:YQ==:", "a=@1659578233", "a=%\"f%c3\""] {
            assert_eq!(one(other), Some(StructuredValue::Other), "{other}");
        }
    }

    #[test]
    fn inner_lists_hold_strings_or_other_things() {
        assert_eq!(one("a=()"), Some(StructuredValue::List(b"")));
        assert_eq!(one("a=(1 \"b)\";p c)"), Some(StructuredValue::List(b"1 \"b)\";p c")));
        assert_eq!(strings(b""), Some(Vec::new()));
        assert_eq!(strings(b" \"a\";x=1   \"b\\\"\\\\c\" "), Some(vec![b"a".to_vec(), b"b\"\\c".to_vec()]));
        assert_eq!(strings(b"\"a\" 1"), None);
    }

    #[test]
    fn members_are_separated_and_the_last_of_a_key_counts() {
        let read = read(" max-age=1,\tx ,max-age=60  ").unwrap();
        assert_eq!(
            read,
            [("max-age".to_owned(), StructuredValue::Integer(60)), ("x".to_owned(), StructuredValue::True)]
        );
        assert_eq!(dictionary(b""), Some(Vec::new()));
    }

    #[test]
    fn what_is_no_dictionary_is_none() {
        for text in [
            "Max-Age=60",
            "max-age = 60",
            "max-age=60 ;x",
            "max-age=",
            "max-age=60,",
            ",",
            "a,,b",
            "&&&&&",
            "a=&",
            "max-age=1.",
            "max-age=1.1234",
            "max-age=1234567890123456",
            "max-age=99999999999999999999999999",
            "max-age=-99999999999999999999999999",
            "a=\"x",
            "a=\"\u{e9}\"",
            "a=?2",
            "a=(1",
            "a=(1\"b\")",
            "a=:x",
            "a=@1.5",
            "a b",
            "=1",
            "1=a",
            "a;=1",
        ] {
            assert_eq!(dictionary(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn random_text_never_panics() {
        let pieces = [
            "max-age", "=", "\"", ",", " ", ";", "(", ")", "9", "99999999", "?", ":", "@", "%", "\\",
            "\u{e9}", "-", ".",
        ];
        let mut random = fastrand::Rng::with_seed(9);
        for _ in 0..50_000 {
            let text: String = (0..random.usize(..14)).map(|_| *random.choice(&pieces).unwrap()).collect();
            if let Some(members) = dictionary(text.as_bytes()) {
                assert!(members.len() <= text.len());
            }
        }
    }
}
