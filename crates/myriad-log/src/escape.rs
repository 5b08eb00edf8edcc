//! Escaping of messages, so that each stays on one line even if it contains text from clients.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Returns true if a character must be escaped, because it could start a new line, control the reader's terminal, or
/// change the text direction.
pub(crate) fn is_unsafe(character: char) -> bool {
    // Control characters (U+009B starts terminal commands), line separators and bidirectional controls.
    (character.is_control() && character != '\t')
        || matches!(character, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Returns the message in a form that fits on one line: each byte of an unsafe character (such as a line break) becomes
/// `\xXX`.
pub fn escaped(message: &str) -> Cow<'_, str> {
    if !message.chars().any(is_unsafe) {
        return Cow::Borrowed(message);
    }
    let mut shown = String::with_capacity(message.len() + 16);
    for character in message.chars() {
        if is_unsafe(character) {
            for byte in character.encode_utf8(&mut [0; 4]).bytes() {
                // Writing to a String cannot fail.
                let _ = write!(shown, "\\x{byte:02X}");
            }
        } else {
            shown.push(character);
        }
    }
    Cow::Owned(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn controls_of_eight_bits_and_marks_of_direction_are_escaped_and_letters_are_not() {
        assert_eq!(escaped("a\u{9b}31m\u{80}\u{9f}\u{7f}b"), "a\\xC2\\x9B31m\\xC2\\x80\\xC2\\x9F\\x7Fb");
        assert_eq!(escaped("\u{202e}x\u{2028}"), "\\xE2\\x80\\xAEx\\xE2\\x80\\xA8");
        let letters = "\tÀ\u{a0}é 日本 – “x” 🦀";
        assert!(matches!(escaped(letters), Cow::Borrowed(same) if same == letters));
        // Invalid UTF-8 was replaced by U+FFFD before.
        assert_eq!(escaped(&String::from_utf8_lossy(b"\x9b\x85")), "\u{fffd}\u{fffd}");
    }

    #[test]
    fn no_message_steers_a_terminal_or_begins_a_line() {
        for seed in 0..4000 {
            let mut random = fastrand::Rng::with_seed(seed);
            let message: String = (0..random.usize(..24))
                .map(|_| match random.u8(..4) {
                    0 => char::from(random.u8(..)),
                    1 => random.char('\u{2000}'..='\u{2070}'),
                    _ => random.char('\0'..='\u{10ffff}'),
                })
                .collect();
            let shown = escaped(&message);
            assert!(!shown.chars().any(is_unsafe), "seed {seed}");
            assert_eq!(escaped(&shown), shown, "escaped twice, seed {seed}");
            let harmless: String = message.chars().filter(|letter| !is_unsafe(*letter)).collect();
            assert_eq!(shown == message, harmless == message, "seed {seed}");
        }
    }

    #[test]
    fn what_surrounds_a_control_stays() {
        assert_eq!(escaped("a\r\nb"), "a\\x0D\\x0Ab");
        assert_eq!(escaped("\0"), "\\x00");
        assert_eq!(escaped(""), "");
    }

    #[test]
    fn isolates_are_escaped_as_overrides_are() {
        assert_eq!(escaped("\u{2066}\u{2069}"), "\\xE2\\x81\\xA6\\xE2\\x81\\xA9");
        assert_eq!(escaped("\u{2065}\u{206a}\u{2027}\u{202f}"), "\u{2065}\u{206a}\u{2027}\u{202f}");
    }
}
