//! Tokens: methods, field names and most words in field values.

/// Returns whether a token may contain `byte` (`tchar`, RFC 9110 §5.6.2).
pub const fn is_tchar(byte: u8) -> bool {
    matches!(byte, b'!' | b'#'..=b'\'' | b'*' | b'+' | b'-' | b'.' | b'^'..=b'`' | b'|' | b'~')
        || byte.is_ascii_alphanumeric()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exactly_the_bytes_of_the_grammar_are_taken() {
        let taken: Vec<u8> = (0..=255).filter(|byte| is_tchar(*byte)).collect();
        let mut expected = b"!#$%&'*+-.^_`|~".to_vec();
        expected.extend((b'0'..=b'9').chain(b'a'..=b'z').chain(b'A'..=b'Z'));
        expected.sort_unstable();
        assert_eq!(taken, expected);
    }
}
