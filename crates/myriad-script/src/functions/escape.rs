//! Escaping and unescaping of URI components.

use myriad_http::uri::unescape;

const HEX: &[u8; 16] = b"0123456789ABCDEF";

/// Appends a text; escapes all bytes except letters, digits and ``!$'()*,-.@_`|~``, as in the nginx module
/// (`set_escape_uri`).
pub fn escape_uri(text: &[u8], out: &mut Vec<u8>) {
    for &byte in text {
        if byte.is_ascii_alphanumeric() || b"!$'()*,-.@_`|~".contains(&byte) {
            out.push(byte);
        } else {
            out.extend_from_slice(&[b'%', HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]);
        }
    }
}

/// Appends a text; decodes `%XX` and converts `+` to a space (`set_unescape_uri`).
pub fn unescape_uri(text: &[u8], out: &mut Vec<u8>) {
    // An escaped `+` remains, because it is decoded after this replacement.
    let blanked: Vec<u8> = text.iter().map(|byte| if *byte == b'+' { b' ' } else { *byte }).collect();
    unescape(&blanked, out);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::function::{Function, shown};

    #[test]
    fn all_is_escaped_that_means_something_in_a_uri() {
        let escaped = |text| shown(&Function::of_any(escape_uri), &[text]);
        assert_eq!(escaped("hello world"), "hello%20world");
        assert_eq!(escaped(""), "");
        assert_eq!(escaped("你好"), "%E4%BD%A0%E5%A5%BD");
        assert_eq!(escaped("+/="), "%2B%2F%3D");
        assert_eq!(escaped("\"a/b={}:<>;&[]\\^"), "%22a%2Fb%3D%7B%7D%3A%3C%3E%3B%26%5B%5D%5C%5E");
        assert_eq!(escaped("a!$'()*,-.@_`|~\r\n%?#\u{7f}"), "a!$'()*,-.@_`|~%0D%0A%25%3F%23%7F");
    }

    #[test]
    fn plus_is_a_blank_where_it_is_not_escaped() {
        let plain = |text| shown(&Function::of_any(unescape_uri), &[text]);
        assert_eq!(plain("hello+world%21"), "hello world!");
        assert_eq!(plain("1%2B1+"), "1+1 ");
        assert_eq!(plain("%zz%4"), "zz");
    }

    #[test]
    fn what_is_escaped_comes_back() {
        let mut random = fastrand::Rng::with_seed(7);
        for _ in 0..2000 {
            let text: Vec<u8> = (0..random.usize(..40)).map(|_| random.u8(..)).collect();
            let (mut escaped, mut back) = (Vec::new(), Vec::new());
            escape_uri(&text, &mut escaped);
            unescape_uri(&escaped, &mut back);
            assert_eq!(back, text);
        }
    }
}
