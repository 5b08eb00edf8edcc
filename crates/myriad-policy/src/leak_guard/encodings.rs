//! Forms in which applications write a value into a page: as it is, or encoded for URLs, HTML, JSON or base64.

use base64::Engine;
use base64::prelude::BASE64_STANDARD as STANDARD;
use myriad_http::uri::{EscapeKind, escape};

/// Minimum length in bytes of a value that identifies a visitor. Shorter values occur in pages by chance.
pub(super) const MIN_LENGTH: usize = 8;
/// Number of bytes at the start of a value that are searched for; the rest of a longer value is ignored.
pub(super) const MAX_LENGTH: usize = 64;

/// Form in which a value may be written in a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct EncodedForm {
    /// Bytes of the form.
    pub bytes: Vec<u8>,
    /// True if the form counts only as a whole word: `2026001` is not part of `120260019`.
    pub is_whole_word: bool,
}

/// Returns the forms in which an application may write `value` into a page, each once. `value` is not encoded.
pub(super) fn encoded_forms(value: &[u8]) -> Vec<EncodedForm> {
    let url = escaped(value, EscapeKind::UriComponent);
    let html = escaped(value, EscapeKind::Html);
    let json = json(value);
    let words = [
        value.to_vec(),
        url.replace("%20", "+").into(),
        with_lower_case_digits(&url).into(),
        html.replace('\'', "&#039;").into(),
        html.replace('\'', "&#39;").into(),
        html.replace('\'', "&#x27;").into(),
        // JSON in an attribute, as `htmlspecialchars(json_encode($value))` and `esc_attr(wp_json_encode($value))`
        // encode it.
        escaped(&json, EscapeKind::Html).replace('\'', "&#039;").into(),
        with_entities(&html, |c| name_of_entity(c).map(|name| format!("&{name};"))).into(),
        with_entities(&html, |c| Some(format!("&#{};", u32::from(c)))).into(),
        // An address in an argument of another one.
        escaped(url.as_bytes(), EscapeKind::UriComponent).into(),
        url.into(),
        html.into(),
        json,
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

/// Returns the escaped value as text; bytes that are no UTF-8 only match in other forms.
fn escaped(value: &[u8], kind: EscapeKind) -> String {
    let mut escaped = Vec::new();
    escape(value, kind, &mut escaped);
    String::from_utf8_lossy(&escaped).into_owned()
}

/// Returns a percent-encoded text with the digits `a` to `f` in place of `A` to `F`.
fn with_lower_case_digits(url: &str) -> String {
    let mut parts = url.split('%');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        let (digits, rest) = part.split_at(2);
        text + "%" + &digits.to_ascii_lowercase() + rest
    })
}

/// Names of the characters from U+00A0 to U+00FF in HTML, in this order.
const LATIN_1_ENTITIES: &str = "nbsp iexcl cent pound curren yen brvbar sect uml copy ordf laquo not shy reg macr deg plusmn sup2 sup3 acute \
     micro para middot cedil sup1 ordm raquo frac14 frac12 frac34 iquest Agrave Aacute Acirc Atilde Auml Aring AElig Ccedil Egrave \
     Eacute Ecirc Euml Igrave Iacute Icirc Iuml ETH Ntilde Ograve Oacute Ocirc Otilde Ouml times Oslash Ugrave Uacute Ucirc Uuml \
     Yacute THORN szlig agrave aacute acirc atilde auml aring aelig ccedil egrave eacute ecirc euml igrave iacute icirc iuml eth \
     ntilde ograve oacute ocirc otilde ouml divide oslash ugrave uacute ucirc uuml yacute thorn yuml";

/// Returns the name of a character from U+00A0 to U+00FF in HTML, as `htmlentities` of PHP encodes it; `None` for all
/// other characters.
fn name_of_entity(character: char) -> Option<&'static str> {
    let index = u32::from(character).checked_sub(0xa0)?;
    LATIN_1_ENTITIES.split_whitespace().nth(usize::try_from(index).ok()?)
}

/// Encodes the characters of an HTML text that are not printable ASCII, if `encode` knows them, and apostrophes as PHP
/// does.
fn with_entities(html: &str, encode: impl Fn(char) -> Option<String>) -> String {
    let mut text = String::with_capacity(html.len());
    for character in html.chars() {
        match character {
            '\'' => text.push_str("&#039;"),
            ' '..='~' => text.push(character),
            _ => text.push_str(&encode(character).unwrap_or_else(|| character.to_string())),
        }
    }
    text
}

/// Encodes a value as the content of a JSON string, as PHP does, except for control characters: `/` with a backslash,
/// characters that are not printable ASCII as `\uXXXX`.
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

/// Returns the base64 characters that depend on `value` alone, if `offset` bytes precede it in its group of three;
/// `None` if they are too few to be recognized.
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
        for form in [
            "J\\u00f6rg O&#039;Neill &amp; So",
            "J&ouml;rg O&#039;Neill &amp; So",
            "J&#246;rg O&#039;Neill &amp; So",
        ] {
            assert!(texts("Jörg O'Neill & So").iter().any(|known| known == form), "{form}");
        }
        assert!(texts("ann@example.org").iter().any(|known| known == "ann%2540example.org"));
        assert!(texts("a/b/\"Jörg\"").iter().any(|form| form == "a\\/b\\/\\\"J\\u00f6rg\\\""));
    }
}
