//! Tokens of a page.

/// Minimum length of a random id, in characters.
const MIN_RANDOM_LEN: usize = 8;

/// Splits a page into tokens: words, runs of white space, and other bytes one by one. Bytes above 127 belong to words,
/// so that a character of UTF-8 is never split.
pub(super) fn tokens(page: &[u8]) -> Vec<&[u8]> {
    let mut found = Vec::with_capacity(page.len() / 3);
    let mut rest = page;
    while let Some(first) = rest.first() {
        let class = Class::of(*first);
        let len = match class {
            Class::Other => 1,
            _ => rest.iter().position(|byte| Class::of(*byte) != class).unwrap_or(rest.len()),
        };
        let (token, following) = rest.split_at(len);
        found.push(token);
        rest = following;
    }
    found
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Word,
    Space,
    Other,
}

impl Class {
    fn of(byte: u8) -> Self {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | 128.. => Self::Word,
            b' ' | b'\t' | b'\n' | b'\r' => Self::Space,
            _ => Self::Other,
        }
    }
}

/// Returns whether two tokens are random ids with the same length: at least 8 hexadecimal digits with letters in lower
/// case, and in both of them letters (`a` to `f`) and digits. A number or a date has no letters.
pub(super) fn is_random_pair(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && is_random(a) && is_random(b)
}

/// Returns whether a token is a decimal number.
pub(super) fn is_number(token: &[u8]) -> bool {
    token.iter().all(u8::is_ascii_digit)
}

fn is_random(token: &[u8]) -> bool {
    token.len() >= MIN_RANDOM_LEN
        && token.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        && token.iter().any(u8::is_ascii_digit)
        && token.iter().any(u8::is_ascii_alphabetic)
}
