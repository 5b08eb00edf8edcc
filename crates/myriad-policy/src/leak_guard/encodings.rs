//! Forms in which applications write a value into a page: as it is, or encoded for URLs, HTML, JSON or base64.

use std::borrow::Cow;

use base64::Engine;
use base64::prelude::BASE64_STANDARD as STANDARD;

/// Minimum length in bytes of a value that identifies a visitor. Shorter values occur in pages by chance.
pub(super) const MIN_LENGTH: usize = 8;
/// Maximum length in bytes of a value that is searched for; of a longer one, the first bytes are.
pub(super) const MAX_LENGTH: usize = 64;

/// Form of a value in a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct EncodedForm {
    /// Bytes of the form.
    pub bytes: Vec<u8>,
    /// True if the form counts only as a whole word: `2026001` is not part of `120260019`.
    pub is_whole_word: bool,
}

/// Returns the different forms of a value. `value` is not encoded.
pub(super) fn encoded_forms(value: &[u8]) -> Vec<EncodedForm> {
    let words = [
        value.to_vec(),
        url_encoded(value, false, "0123456789ABCDEF"),
        url_encoded(value, true, "0123456789ABCDEF"),
        url_encoded(value, false, "0123456789abcdef"),
        html(value, b"&#039;"),
        html(value, b"&#39;"),
        html(value, b"&#x27;"),
        json(value),
    ];
    // The rest of a shortened value may follow.
    let is_whole_word = value.len() < MAX_LENGTH;
    let whole = words.into_iter().map(|bytes| EncodedForm { bytes, is_whole_word });
    let parts = (0..3)
        .filter_map(|offset| base64(value, offset))
        .map(|bytes| EncodedForm { bytes, is_whole_word: false });
    let mut forms: Vec<EncodedForm> = Vec::new();
    for form in whole.chain(parts) {
        if !forms.contains(&form) {
            forms.push(form);
        }
    }
    forms
}

/// Decodes `%XX`, and `+` to a space if `plus_is_space` is true. Invalid sequences remain.
pub(super) fn url_decoded(value: &[u8], plus_is_space: bool) -> Cow<'_, [u8]> {
    if !value.iter().any(|byte| *byte == b'%' || plus_is_space && *byte == b'+') {
        return Cow::Borrowed(value);
    }
    let mut decoded = Vec::with_capacity(value.len());
    let mut rest = value;
    while let [first, behind @ ..] = rest {
        let hex = |at: usize| behind.get(at).and_then(|byte| char::from(*byte).to_digit(16));
        match (*first, hex(0), hex(1)) {
            (b'%', Some(high), Some(low)) => {
                decoded.push((high * 16 + low) as u8);
                rest = &behind[2..];
            }
            (b'+', ..) if plus_is_space => {
                decoded.push(b' ');
                rest = behind;
            }
            (other, ..) => {
                decoded.push(other);
                rest = behind;
            }
        }
    }
    Cow::Owned(decoded)
}

/// Encodes a value as in an URL (RFC 3986 section 2.1), with a space as `+` or `%20`, and these hexadecimal digits.
fn url_encoded(value: &[u8], space_is_plus: bool, digits: &str) -> Vec<u8> {
    let mut encoded = Vec::with_capacity(value.len());
    let digit = |number: u8| digits.as_bytes()[usize::from(number)];
    for byte in value {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => encoded.push(*byte),
            b' ' if space_is_plus => encoded.push(b'+'),
            other => encoded.extend_from_slice(&[b'%', digit(other >> 4), digit(other & 15)]),
        }
    }
    encoded
}

/// Encodes a value as text or attribute of HTML. There are two usual forms of the apostrophe.
fn html(value: &[u8], apostrophe: &[u8]) -> Vec<u8> {
    let mut encoded = Vec::with_capacity(value.len());
    for byte in value {
        let text: &[u8] = match byte {
            b'&' => b"&amp;",
            b'<' => b"&lt;",
            b'>' => b"&gt;",
            b'"' => b"&quot;",
            b'\'' => apostrophe,
            other => std::slice::from_ref(other),
        };
        encoded.extend_from_slice(text);
    }
    encoded
}

/// Encodes a value as a string of JSON as PHP does: `/` with a backslash, characters outside of ASCII as `\uXXXX`.
fn json(value: &[u8]) -> Vec<u8> {
    let mut encoded = Vec::with_capacity(value.len());
    let text = String::from_utf8_lossy(value);
    for unit in text.encode_utf16() {
        match u8::try_from(unit) {
            Ok(special @ (b'"' | b'\\' | b'/')) => encoded.extend_from_slice(&[b'\\', special]),
            Ok(plain @ b' '..=b'~') => encoded.push(plain),
            _ => encoded.extend_from_slice(format!("\\u{unit:04x}").as_bytes()),
        }
    }
    encoded
}

/// Returns the base64 characters that depend on `value` alone, if `offset` bytes precede it in its group of three; `None`
/// if they are too few to be recognized.
fn base64(value: &[u8], offset: usize) -> Option<Vec<u8>> {
    let first = (offset * 8).div_ceil(6);
    let end = (offset + value.len()) * 8 / 6;
    let preceded = [&[0; 2][..offset], value].concat();
    (end >= first + MIN_LENGTH).then(|| STANDARD.encode(preceded).as_bytes()[first..end].to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(value: &str) -> Vec<String> {
        encoded_forms(value.as_bytes())
            .into_iter()
            .map(|form| String::from_utf8(form.bytes).expect("ASCII"))
            .collect()
    }

    #[test]
    fn plain_value_has_itself_and_its_base64_forms() {
        let encoded = ["", "x", "xy"].map(|before| STANDARD.encode(format!("{before}ann-1234567/")));
        let forms = texts("ann-1234567");
        assert_eq!((&*forms[0], forms.len()), ("ann-1234567", 4));
        for (form, whole) in forms[1..].iter().zip(encoded) {
            assert!(form.len() >= 13 && whole.contains(form), "{form}: {whole}");
        }
    }

    #[test]
    fn special_characters_are_encoded_as_applications_do() {
        let forms = texts("O'Hara & <b>");
        for form in [
            "O%27Hara%20%26%20%3Cb%3E",
            "O%27Hara+%26+%3Cb%3E",
            "O&#039;Hara &amp; &lt;b&gt;",
            "O&#39;Hara &amp; &lt;b&gt;",
        ] {
            assert!(forms.iter().any(|known| known == form), "{form}: {forms:?}");
        }
        assert!(texts("a/b/\"Jörg\"").iter().any(|form| form == "a\\/b\\/\\\"J\\u00f6rg\\\""));
    }

    #[test]
    fn url_encoding_is_decoded() {
        assert_eq!(*url_decoded(b"ann%40example.org+x%2", true), *b"ann@example.org x%2");
        assert_eq!(*url_decoded(b"a+b%zz", false), *b"a+b%zz");
        assert!(matches!(url_decoded(b"plain", true), Cow::Borrowed(_)));
    }
}
