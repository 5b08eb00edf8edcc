//! Allowed targets of an ESI include: paths of the same host.

/// Maximum length of the target (`src` or `alt`) of an ESI include, in bytes.
const LONGEST: usize = 2048;

/// Returns the path and query of the `src` or `alt` of an ESI include, whose entities are decoded. A fragment (`#...`)
/// is removed. Returns `None` for a URL of a host other than `host` (for any URL with a host if `host` is empty), and
/// for a path that is longer than [`LONGEST`], starts with `//`, or is not a valid request target (RFC 9112 section
/// 3.2.1).
pub(crate) fn target(uri: &[u8], host: &[u8]) -> Option<Box<[u8]>> {
    let path = match scheme_length(uri) {
        0 => uri,
        length => {
            let rest = &uri[length..];
            let end = rest.iter().position(|byte| matches!(byte, b'/' | b'?' | b'#')).unwrap_or(rest.len());
            let (authority, path) = rest.split_at(end);
            if host.is_empty() || !authority.eq_ignore_ascii_case(host) {
                return None;
            }
            path
        }
    };
    let path = path.split(|byte| *byte == b'#').next().unwrap_or_default();
    let is_target = path.starts_with(b"/")
        && !path.starts_with(b"//")
        && path.len() <= LONGEST
        && path.iter().all(u8::is_ascii_graphic);
    is_target.then(|| path.into())
}

fn scheme_length(uri: &[u8]) -> usize {
    let begins =
        |scheme: &&[u8]| uri.len() >= scheme.len() && uri[..scheme.len()].eq_ignore_ascii_case(scheme);
    [&b"http://"[..], b"https://", b"//"]
        .iter()
        .find(|scheme| begins(scheme))
        .map_or(0, |scheme| scheme.len())
}

/// Decodes the entities that PHP and WordPress generate in an attribute value.
pub(crate) fn unescaped(text: &[u8]) -> Vec<u8> {
    const ENTITIES: [(&[u8], u8); 7] = [
        (b"&amp;", b'&'),
        (b"&#038;", b'&'),
        (b"&quot;", b'"'),
        (b"&#039;", b'\''),
        (b"&#39;", b'\''),
        (b"&lt;", b'<'),
        (b"&gt;", b'>'),
    ];
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.first() {
        let entity = ENTITIES.iter().find(|(entity, _)| *first == b'&' && rest.starts_with(entity));
        let (length, byte) = entity.map_or((1, *first), |(entity, byte)| (entity.len(), *byte));
        out.push(byte);
        rest = &rest[length..];
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_the_same_host_are_targets() {
        for (uri, expected) in [
            ("/a?b=c", Some("/a?b=c")),
            ("/a#b", Some("/a")),
            ("http://example.org/a", Some("/a")),
            ("HTTPS://EXAMPLE.org/a", Some("/a")),
            ("//example.org/", Some("/")),
            ("http://example.org", None),
            ("http://example.org.evil/a", None),
            ("http://user@example.org/a", None),
            ("//evil/a", None),
            ("a", None),
            ("?a", None),
            ("/a b", None),
            ("/\r\n", None),
            ("file:///etc/passwd", None),
            ("", None),
        ] {
            assert_eq!(
                target(uri.as_bytes(), b"example.org").as_deref(),
                expected.map(str::as_bytes),
                "{uri}"
            );
        }
        assert_eq!(target(b"///", b""), None);
        assert!(target(&[b"/".as_slice(), &[b'a'; LONGEST]].concat(), b"").is_none());
    }

    #[test]
    fn entities_are_undone_once() {
        assert_eq!(unescaped(b"/?a=1&amp;b=&#038;c&amp;amp;&"), b"/?a=1&b=&c&amp;&");
        assert_eq!(unescaped(b"&quot;&#39;&lt;&nbsp;"), b"\"'<&nbsp;");
    }
}
