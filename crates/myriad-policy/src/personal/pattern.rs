//! A pattern: one line of the list.

/// How the hexadecimal digits of a name are written in the list.
const HEX: &str = "[a-f0-9]+";

/// A cookie name, or the beginning of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pattern {
    /// The beginning of the name.
    stem: Box<[u8]>,
    rest: Rest,
}

/// The rest of the name behind the stem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rest {
    Nothing,
    Anything,
    HexDigits,
}

impl Pattern {
    /// Reads a pattern; `None` for an empty one.
    pub(super) fn parse(text: &str) -> Option<Pattern> {
        let text = text.trim();
        let (stem, rest) = if let Some(stem) = text.strip_suffix('*') {
            (stem, Rest::Anything)
        } else if let Some(stem) = text.strip_suffix(HEX) {
            (stem, Rest::HexDigits)
        } else {
            (text, Rest::Nothing)
        };
        (!text.is_empty()).then(|| Pattern { stem: stem.bytes().map(as_php).collect(), rest })
    }

    /// Whether a name may begin with `byte`.
    pub(super) fn may_begin_with(&self, byte: u8) -> bool {
        match (self.stem.first(), self.rest) {
            (Some(first), _) => *first == as_php(byte),
            (None, Rest::HexDigits) => is_hash_digit(byte),
            (None, _) => true,
        }
    }

    /// Whether `name`, as PHP will read it, is this cookie.
    pub(super) fn matches(&self, name: &[u8]) -> bool {
        let Some((stem, rest)) = name.split_at_checked(self.stem.len()) else { return false };
        if !stem.iter().zip(&self.stem).all(|(byte, wanted)| as_php(*byte) == *wanted) {
            return false;
        }
        match self.rest {
            // `name[key]` is an element of the array `name`, which a test for emptiness takes for the cookie.
            Rest::Nothing => matches!(rest, [] | [b'[', ..]),
            Rest::Anything => true,
            Rest::HexDigits => !rest.is_empty() && rest.iter().copied().all(is_hash_digit),
        }
    }
}

/// A digit of a hash as PHP's `md5` writes it.
fn is_hash_digit(byte: u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'a'..=b'f')
}

/// The byte that PHP puts in a variable's name in place of `byte`.
fn as_php(byte: u8) -> u8 {
    match byte {
        b'.' | b' ' | b'[' => b'_',
        other => other,
    }
}
