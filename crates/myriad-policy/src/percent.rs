//! Percent-decoding that leaves invalid sequences unchanged, as PHP does.

use std::borrow::Cow;

/// Decodes each `%XX` in `text` (RFC 3986 section 2.1). A `%` without two hexadecimal digits remains.
pub(crate) fn percent_decoded(text: &[u8]) -> Cow<'_, [u8]> {
    if !text.contains(&b'%') {
        return Cow::Borrowed(text);
    }
    let mut decoded = Vec::with_capacity(text.len());
    let mut rest = text;
    while let [first, behind @ ..] = rest {
        let hex = |at: usize| behind.get(at).and_then(|byte| char::from(*byte).to_digit(16));
        if *first == b'%'
            && let (Some(high), Some(low)) = (hex(0), hex(1))
        {
            decoded.push((high * 16 + low) as u8);
            rest = &behind[2..];
        } else {
            decoded.push(*first);
            rest = behind;
        }
    }
    Cow::Owned(decoded)
}

/// Decodes each `%XX` in `text`, and `+` to a space, as in values of cookies and arguments that PHP reads. A `%`
/// without two hexadecimal digits remains.
pub(crate) fn form_decoded(text: &[u8]) -> Cow<'_, [u8]> {
    if !text.contains(&b'+') {
        return percent_decoded(text);
    }
    let spaces: Vec<u8> = text.iter().map(|byte| if *byte == b'+' { b' ' } else { *byte }).collect();
    Cow::Owned(percent_decoded(&spaces).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn valid_sequences_are_decoded() {
        assert_eq!(*form_decoded(b"ann%40example.org+x%2"), *b"ann@example.org x%2");
        assert_eq!(*form_decoded(b"a%2bb"), *b"a+b");
        assert_eq!(*percent_decoded(b"a+b%zz"), *b"a+b%zz");
        assert!(matches!(form_decoded(b"plain"), Cow::Borrowed(_)));
    }
}
