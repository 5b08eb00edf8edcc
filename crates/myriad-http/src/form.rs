//! Search for fields of HTML forms in request bodies, interpreted as in PHP.
//!
//! Supports `application/x-www-form-urlencoded` (WHATWG URL, section 5) and `multipart/form-data` (RFC 7578). The
//! result is used for rate limits, so a false match is preferred to a missed field.

/// Returns whether the form in `body` has a field called `name`, as PHP would parse it. A multipart body also matches
/// if the content of a part contains text such as `name="…"` with this name. `media_type` is the value of
/// `Content-Type`; any type except `multipart/form-data` is parsed as `application/x-www-form-urlencoded`.
pub fn has_field(body: &[u8], media_type: &[u8], name: &[u8]) -> bool {
    let multipart = b"multipart/form-data";
    let kind = media_type.trim_ascii_start().get(..multipart.len());
    if kind.is_some_and(|kind| kind.eq_ignore_ascii_case(multipart)) {
        has_part(body, name)
    } else {
        body.split(|byte| *byte == b'&').any(|pair| is_name(FormDecoder(pair), name))
    }
}

/// Returns whether PHP interprets these decoded bytes as the field name `name`. PHP removes leading spaces, ends the
/// name at `=`, a zero byte or `[`, and replaces dots and spaces by underscores.
fn is_name(decoded: impl Iterator<Item = u8>, name: &[u8]) -> bool {
    let rest = decoded.skip_while(|byte| *byte == b' ').take_while(|byte| !matches!(byte, b'=' | 0 | b'['));
    rest.map(|byte| if matches!(byte, b'.' | b' ') { b'_' } else { byte }).eq(name.iter().copied())
}

/// Decoder of a form-encoded `name=value` pair: `%XX` is decoded, and `+` becomes a space. An encoded `=`, which does
/// not end the name, is returned as `_`.
struct FormDecoder<'a>(&'a [u8]);

impl Iterator for FormDecoder<'_> {
    type Item = u8;

    fn next(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        let hex = |at: usize| rest.get(at).and_then(|byte| char::from(*byte).to_digit(16));
        if *first == b'%'
            && let (Some(high), Some(low)) = (hex(0), hex(1))
        {
            self.0 = &rest[2..];
            let byte = (high * 16 + low) as u8;
            return Some(if byte == b'=' { b'_' } else { byte });
        }
        self.0 = rest;
        Some(if *first == b'+' { b' ' } else { *first })
    }
}

/// Returns whether a multipart body contains a parameter `name=` with the value `name`. The search does not distinguish
/// the headers of parts from their content.
fn has_part(body: &[u8], name: &[u8]) -> bool {
    let mut from = 0;
    while let Some(at) = find_name(&body[from..]) {
        let start = from + at;
        from = start + PARAMETER.len();
        let begins_word = start == 0 || !body[start - 1].is_ascii_alphanumeric();
        let Some(value) = body[from..].trim_ascii_start().strip_prefix(b"=").filter(|_| begins_word) else {
            continue;
        };
        let value = value.trim_ascii_start();
        let found = if let Some((quote @ (b'"' | b'\''), value)) = value.split_first() {
            is_name(value.iter().copied().take_while(|byte| byte != quote), name)
        } else {
            let ends = |byte: &u8| byte.is_ascii_whitespace() || *byte == b';';
            is_name(value.iter().copied().take_while(|byte| !ends(byte)), name)
        };
        if found {
            return true;
        }
    }
    false
}

/// Parameter of `Content-Disposition` that contains the name of a form field.
const PARAMETER: &[u8] = b"name";

/// Returns the offset of the first [`PARAMETER`] in `text`, ignoring case; `None` if there is none. It may be part of a
/// longer word.
fn find_name(text: &[u8]) -> Option<usize> {
    let mut from = 0;
    loop {
        let at = from + memchr::memchr2(b'n', b'N', text.get(from..)?)?;
        if text.get(at..at + PARAMETER.len())?.eq_ignore_ascii_case(PARAMETER) {
            return Some(at);
        }
        from = at + 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn urlencoded(body: &str) -> bool {
        has_field(body.as_bytes(), b"application/x-www-form-urlencoded", b"log")
    }

    #[test]
    fn names_of_a_form_are_found_in_each_spelling_that_php_reads() {
        for body in [
            "log=a",
            "x=1&log=a&y=2",
            "x=1&log",
            "log",
            "l%6Fg=a",
            "%6c%6f%67=a",
            "+log=a",
            "%20+log=a",
            "log%00x=a",
            "log[]=a",
            "log%5B%5D=a",
            "&&log=",
        ] {
            assert!(urlencoded(body), "{body}");
        }
        for body in [
            "",
            "x=log",
            "login=1",
            "blog=1",
            "x=1;log=2",
            "log%3Dx=1",
            "lo%g=1",
            "log =1",
            "log.x=1",
            "x=%26log=1",
        ] {
            assert!(!urlencoded(body), "{body}");
        }
        assert!(has_field(b"my.name=1", b"", b"my_name") && has_field(b"my%20name=1", b"", b"my_name"));
    }

    #[test]
    fn names_of_parts_are_found_in_each_spelling_that_php_reads() {
        let part = |head: &str| {
            let body = format!("--x\r\nContent-Disposition: form-data; {head}\r\n\r\nvalue\r\n--x--\r\n");
            has_field(body.as_bytes(), b"Multipart/Form-Data; boundary=x", b"log")
        };
        for head in [
            "name=\"log\"",
            "NAME=\"log\"",
            "name='log'",
            "name=log",
            "name = \"log\"",
            "name=log; x=y",
            "filename=\"a\"; name=\"log\"",
            "name=\" log\"",
            "name=\"log[]\"",
            &format!("name=\"{}log\"", " ".repeat(1_000)),
            &format!("name=\"log[{}\"", "x".repeat(1_000)),
        ] {
            assert!(part(head), "{head}");
        }
        for head in [
            "name=\"blog\"",
            "name=\"x\"; filename=\"log\"",
            "filename=log",
            "name=\"log.x\"",
            "name",
            "name=",
            "name=\"lo",
        ] {
            assert!(!part(head), "{head}");
        }
    }

    #[test]
    fn no_bytes_make_the_search_panic() {
        for seed in 0..2_000 {
            let mut random = fastrand::Rng::with_seed(seed);
            let letters = b"name=\"'log;[&%+ \r\n\x00%6";
            let body: Vec<u8> =
                (0..random.usize(0..60)).map(|_| letters[random.usize(..letters.len())]).collect();
            has_field(&body, b"multipart/form-data", b"log");
            has_field(&body, b"", b"log");
        }
    }
}
