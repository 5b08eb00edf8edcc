//! Converts a request head in HTTP/1 form to the fields of HTTP/2 (RFC 9113 §8.3.1).

/// Converts a request head in HTTP/1 form to HTTP/2 fields: pseudo-fields first, then the other fields in order.
/// Connection-specific fields of HTTP/1 are dropped (RFC 9113 §8.2.2), as is `TE` unless its value is `trailers`;
/// `Host` becomes `:authority`.
pub(super) fn fields(head: &[u8], is_secure: bool) -> impl Iterator<Item = (&[u8], &[u8])> {
    let mut lines = head.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    let first = lines.next().unwrap_or_default();
    let (method, rest) = split(first, b' ');
    let target = rest.iter().rposition(|byte| *byte == b' ').map_or(rest, |at| &rest[..at]);
    let all = lines.take_while(|line| !line.is_empty()).map(|line| {
        let (name, value) = split(line, b':');
        (name, value.trim_ascii())
    });
    let authority = all
        .clone()
        .find(|(name, _)| name.eq_ignore_ascii_case(b"host"))
        .map(|(_, value)| (&b":authority"[..], value));
    let scheme: &[u8] = if is_secure { b"https" } else { b"http" };
    [(&b":method"[..], method), (b":scheme", scheme), (b":path", target)]
        .into_iter()
        .chain(authority)
        .chain(all.filter(|(name, value)| !ends_here(name, value)))
}

/// Returns the bytes before and after the first byte `at`; all bytes and an empty slice if it does not occur.
fn split(line: &[u8], at: u8) -> (&[u8], &[u8]) {
    match line.iter().position(|byte| *byte == at) {
        Some(place) => (&line[..place], &line[place + 1..]),
        None => (line, b""),
    }
}

fn ends_here(name: &[u8], value: &[u8]) -> bool {
    const OF_CONNECTION: [&[u8]; 7] = [
        b"host",
        b"connection",
        b"keep-alive",
        b"proxy-connection",
        b"transfer-encoding",
        b"upgrade",
        b"http2-settings",
    ];
    OF_CONNECTION.iter().any(|other| name.eq_ignore_ascii_case(other))
        || name.eq_ignore_ascii_case(b"te") && !value.eq_ignore_ascii_case(b"trailers")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(head: &str, is_secure: bool) -> Vec<String> {
        fields(head.as_bytes(), is_secure)
            .map(|(name, value)| {
                format!("{}: {}", String::from_utf8_lossy(name), String::from_utf8_lossy(value))
            })
            .collect()
    }

    #[test]
    fn a_head_of_http_1_has_the_same_fields_but_for_those_of_its_connection() {
        let head = "POST /a?b HTTP/1.1\r\nX-A: 1:2\r\nHost: a.example:81\r\nConnection: close\r\nTE: gzip\r\n\
                    Transfer-Encoding: chunked\r\nUpgrade: h2c\r\nTE: trailers\r\nX-B: \r\n\r\n";
        let expected = [
            ":method: POST",
            ":scheme: http",
            ":path: /a?b",
            ":authority: a.example:81",
            "X-A: 1:2",
            "TE: trailers",
            "X-B: ",
        ];
        assert_eq!(shown(head, false), expected);
    }

    #[test]
    fn without_host_there_is_no_authority() {
        assert_eq!(shown("GET / HTTP/1.1\r\n\r\n", true), [":method: GET", ":scheme: https", ":path: /"]);
    }
}
