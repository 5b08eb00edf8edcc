//! What nginx does for old browsers: `msie_padding` and `msie_refresh`.

use myriad_http::Known;

use crate::exchange::Request;

/// MSIE and Chrome show a page of their own in place of an error page that is shorter than 512 bytes.
const PADDING: &[u8] = b"<!-- longer than 512 bytes, lest MSIE or Chrome hide this page -->\r\n";
const PADDED_BY: usize = 6;

/// Makes an error page long enough to be shown, where the place wants that and the browser needs it.
pub fn pad(request: &Request, status: u16, page: &mut Vec<u8>) {
    if status >= 400 && request.place().redirects.msie_padding && agent_is(request, hides_short_pages) {
        (0..PADDED_BY).for_each(|_| page.extend_from_slice(PADDING));
    }
}

/// Whether the client is told of a redirect by a page that refreshes itself.
pub fn wants_refresh(request: &Request) -> bool {
    request.place().redirects.msie_refresh && agent_is(request, is_msie)
}

/// The page that leads to `url`.
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

fn agent_is(request: &Request, test: fn(&[u8]) -> bool) -> bool {
    request.received.head.known(Known::UserAgent).is_some_and(test)
}

fn hides_short_pages(agent: &[u8]) -> bool {
    is_msie(agent) || says(agent, b"Chrome/")
}

/// Opera once called itself MSIE, too.
fn is_msie(agent: &[u8]) -> bool {
    says(agent, b"MSIE ") && !says(agent, b"Opera")
}

fn says(agent: &[u8], word: &[u8]) -> bool {
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

    #[test]
    fn the_padding_is_what_a_short_page_lacks() {
        assert!(PADDING.len() * PADDED_BY + 150 > 512);
    }
}
