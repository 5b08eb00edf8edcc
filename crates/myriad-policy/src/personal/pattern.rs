//! Cookie name pattern: a line of `personal.list` or an argument of `personal_cookies`.

/// Suffix of a pattern that matches one or more hexadecimal digits.
const HEX: &str = "[a-f0-9]+";

/// Pattern of cookie names: a name, or a prefix of names with an optional suffix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CookiePattern {
    /// Literal start of the name, converted by [`as_php`].
    stem: Box<[u8]>,
    rest: NameRest,
    /// Names that the pattern does not match, converted by [`as_php`].
    exceptions: Box<[Box<[u8]>]>,
}

/// Rest of the cookie name, after the stem, that a pattern matches.
#[derive(Clone, Debug, PartialEq, Eq)]
enum NameRest {
    /// No further text, except the index of a PHP array, such as `[a]`.
    Nothing,
    /// Any text, including none.
    Anything,
    /// One or more hexadecimal digits, with letters in lower case.
    HexDigits,
    /// Any text and this suffix, converted by [`as_php`].
    Suffix(Box<[u8]>),
}

impl CookiePattern {
    /// Parses a line of a built-in list: a pattern, which exceptions may follow (`_*_session !_gd_session`); `None` if
    /// it is empty.
    pub(super) fn parse_line(line: &str) -> Option<CookiePattern> {
        let mut words = line.split(" !");
        let pattern = CookiePattern::parse(words.next()?)?;
        let exceptions = words.map(|name| name.trim().bytes().map(as_php).collect()).collect();
        Some(CookiePattern { exceptions, ..pattern })
    }

    /// Parses a pattern; `None` if it is empty.
    pub(super) fn parse(text: &str) -> Option<CookiePattern> {
        let text = text.trim();
        let (stem, rest) = if let Some(stem) = text.strip_suffix('*') {
            (stem, NameRest::Anything)
        } else if let Some(stem) = text.strip_suffix(HEX) {
            (stem, NameRest::HexDigits)
        } else if let Some((stem, suffix)) = text.split_once('*') {
            (stem, NameRest::Suffix(suffix.bytes().map(as_php).collect()))
        } else {
            (text, NameRest::Nothing)
        };
        let stem = stem.bytes().map(as_php).collect();
        (!text.is_empty()).then(|| CookiePattern { stem, rest, exceptions: Box::default() })
    }

    /// Returns whether two patterns are equal, apart from their exceptions.
    pub(super) fn is_same_pattern(&self, other: &CookiePattern) -> bool {
        self.stem == other.stem && self.rest == other.rest
    }

    /// Returns whether a matching name may start with `byte`.
    pub(super) fn may_begin_with(&self, byte: u8) -> bool {
        match (self.stem.first(), &self.rest) {
            (Some(first), _) => *first == as_php(byte),
            (None, NameRest::HexDigits) => is_hash_digit(byte),
            (None, _) => true,
        }
    }

    /// Returns the second byte of every matching name, converted by [`as_php`]; `None` if the literal start of the
    /// pattern has fewer than two bytes.
    pub(super) fn second(&self) -> Option<u8> {
        self.stem.get(1).copied()
    }

    /// Returns whether `name`, as parsed by PHP, matches the pattern.
    pub(super) fn matches(&self, name: &[u8]) -> bool {
        let Some((stem, rest)) = name.split_at_checked(self.stem.len()) else { return false };
        if !stem.iter().zip(&self.stem).all(|(byte, wanted)| as_php(*byte) == *wanted) {
            return false;
        }
        let is_match = match &self.rest {
            // `name[key]` is an element of the PHP array `name`; code that checks if `name` is empty finds it set.
            NameRest::Nothing => matches!(rest, [] | [b'[', ..]),
            NameRest::Anything => true,
            NameRest::Suffix(suffix) => {
                rest.split_at_checked(rest.len().wrapping_sub(suffix.len())).is_some_and(|(_, end)| {
                    end.iter().zip(suffix).all(|(byte, wanted)| as_php(*byte) == *wanted)
                })
            }
            NameRest::HexDigits => !rest.is_empty() && rest.iter().copied().all(is_hash_digit),
        };
        is_match
            && !self
                .exceptions
                .iter()
                .any(|exception| name.iter().copied().map(as_php).eq(exception.iter().copied()))
    }
}

/// Returns whether a byte is a lower-case hexadecimal digit, as in a hash written by PHP's `md5`.
fn is_hash_digit(byte: u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'a'..=b'f')
}

/// Returns the byte by which PHP replaces `byte` in a variable name.
pub(super) fn as_php(byte: u8) -> u8 {
    match byte {
        b'.' | b' ' | b'[' => b'_',
        other => other,
    }
}
