//! nginx's workarounds for old browsers (`msie_refresh`), and detection of these browsers.

use myriad_http::Known;

use crate::exchange::Request;

/// Returns true if the client gets a refreshing HTML page instead of a redirect: `msie_refresh` is on, and the client
/// is Internet Explorer.
pub fn wants_refresh(request: &Request) -> bool {
    request.place().redirects.msie_refresh && agent_is(request, is_msie)
}

/// Returns an HTML page that redirects to `url` by a refresh. Spaces, quotes, `%`, `<`, `>` and bytes of `url` that are
/// not printable ASCII are percent-encoded.
pub fn refresh_page(url: &[u8]) -> Vec<u8> {
    let mut page = b"<html><head><meta http-equiv=\"Refresh\" content=\"0; URL=".to_vec();
    for &byte in url {
        if matches!(byte, 0..=32 | b'"' | b'%' | b'\'' | b'<' | b'>' | 127..=255) {
            page.extend_from_slice(format!("%{byte:02X}").as_bytes());
        } else {
            page.push(byte);
        }
    }
    page.extend_from_slice(b"\"></head><body></body></html>\r\n");
    page
}

/// Returns true if the request has a `User-Agent` and `test` returns true for its value.
pub fn agent_is(request: &Request, test: fn(&[u8]) -> bool) -> bool {
    request.received.head.known(Known::UserAgent).is_some_and(test)
}

/// Returns true if a `User-Agent` value contains `MSIE `, as that of Internet Explorer up to version 10, and not
/// `Opera`: Opera used the same name.
pub fn is_msie(agent: &[u8]) -> bool {
    agent_contains(agent, b"MSIE ") && !agent_contains(agent, b"Opera")
}

/// Returns true if a `User-Agent` value contains `word`.
pub fn agent_contains(agent: &[u8], word: &[u8]) -> bool {
    agent.windows(word.len()).any(|window| window == word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opera_is_not_msie() {
        assert!(is_msie(b"Mozilla/4.0 (compatible; MSIE 8.0; Windows NT 6.0)"));
        assert!(!is_msie(b"Mozilla/4.0 (compatible; MSIE 6.0; Windows NT 5.1) Opera 8.0"));
    }

    #[test]
    fn an_address_cannot_leave_its_attribute() {
        let page = String::from_utf8(refresh_page(b"http://a/?x=\"><script>'%\n")).unwrap();
        assert!(page.contains("URL=http://a/?x=%22%3E%3Cscript%3E%27%25%0A\">"), "{page}");
    }
}
