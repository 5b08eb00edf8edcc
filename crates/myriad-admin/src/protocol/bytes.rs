//! Conversion of arbitrary bytes to text for terminals and JSON, and back.

use std::fmt::Write;

use myriad_base::digits::hexadecimal;

/// Returns bytes as text: valid UTF-8 is unchanged except for control characters and invisible characters; each byte of
/// these, and each invalid byte, becomes `\xNN`. Therefore a URL sent by a client can neither break a line nor control
/// a terminal.
pub fn escape_bytes(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for letter in chunk.valid().chars() {
            if letter.is_control() || is_invisible(letter) {
                let mut buffer = [0; 4];
                letter.encode_utf8(&mut buffer).bytes().for_each(|byte| push_escape(&mut text, byte));
            } else {
                text.push(letter);
            }
        }
        chunk.invalid().iter().for_each(|byte| push_escape(&mut text, *byte));
    }
    text
}

/// Converts each `\xNN` back to a byte. It reverts [`escape_bytes`], except for bytes that contained the text `\xNN`
/// before.
pub fn unescape_bytes(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let escape = after.strip_prefix(b"x").and_then(|digits| digits.get(..2));
        let byte = escape.filter(|_| first == b'\\').and_then(hexadecimal);
        if let Some(byte) = byte {
            bytes.push(byte);
            rest = &after[3..];
        } else {
            bytes.push(first);
            rest = after;
        }
    }
    bytes
}

/// Returns whether a character is invisible or changes the direction of text, so that a name may look like another.
fn is_invisible(letter: char) -> bool {
    matches!(letter, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

fn push_escape(text: &mut String, byte: u8) {
    // Writing to a string cannot fail.
    let _ = write!(text, "\\x{byte:02x}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_steer_a_terminal_is_escaped() {
        assert_eq!(escape_bytes(b"/a?b=c"), "/a?b=c");
        assert_eq!(escape_bytes("/日本".as_bytes()), "/日本");
        assert_eq!(escape_bytes(b"a\0b\x1b[2J\r\n\xff"), "a\\x00b\\x1b[2J\\x0d\\x0a\\xff");
        assert_eq!(escape_bytes("a\u{202e}b".as_bytes()), "a\\xe2\\x80\\xaeb");
    }

    #[test]
    fn what_is_shown_is_read_back() {
        let mut rng = fastrand::Rng::with_seed(1);
        for _ in 0..2000 {
            let bytes: Vec<u8> = (0..rng.usize(..40)).map(|_| rng.u8(..)).collect();
            assert_eq!(unescape_bytes(&escape_bytes(&bytes)), bytes);
        }
        assert_eq!(unescape_bytes("\\x4 \\y \\x+a \\"), b"\\x4 \\y \\x+a \\");
    }
}
