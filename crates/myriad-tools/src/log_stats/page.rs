//! Name under which requests for a page are counted.

/// Appends to `out` the name under which a page is counted: host (if known), path, and names of the first eight query
/// arguments: `/?s=one` and `/?s=two` are both counted as `/?s=…`. An argument without `=` is appended unchanged.
pub(crate) fn name(host: &[u8], uri: &[u8], out: &mut Vec<u8>) {
    if !host.is_empty() && host != b"-" && uri.starts_with(b"/") {
        out.extend_from_slice(host);
    }
    let Some(at) = memchr::memchr(b'?', uri) else {
        out.extend_from_slice(uri);
        return;
    };
    out.extend_from_slice(&uri[..at]);
    for (number, argument) in uri[at + 1..].split(|byte| *byte == b'&').take(8).enumerate() {
        out.push(if number == 0 { b'?' } else { b'&' });
        match memchr::memchr(b'=', argument) {
            Some(end) => {
                out.extend_from_slice(&argument[..end]);
                out.extend_from_slice("=…".as_bytes());
            }
            None => out.extend_from_slice(argument),
        }
    }
}

#[cfg(test)]
mod tests {
    fn name(host: &str, uri: &str) -> String {
        let mut out = Vec::new();
        super::name(host.as_bytes(), uri.as_bytes(), &mut out);
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn values_of_arguments_do_not_make_another_page() {
        assert_eq!(name("a.test", "/shop/?utm=1&b&c=2"), "a.test/shop/?utm=…&b&c=…");
        assert_eq!(name("", "/a"), "/a");
        assert_eq!(name("-", "/a?"), "/a?");
        assert_eq!(name("a.test", "\\x16\\x03"), "\\x16\\x03");
    }
}
