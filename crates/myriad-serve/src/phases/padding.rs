//! `msie_padding`: padding of error pages for browsers that replace short pages.

use myriad_exchange::exchange::Request;
use myriad_exchange::responses::msie::{agent_contains, agent_is, is_msie};

/// Padding text. MSIE and Chrome show a built-in page instead of an error page shorter than 512 bytes.
const PADDING: &[u8] = b"<!-- longer than 512 bytes, lest MSIE or Chrome hide this page -->\r\n";
const PADDED_BY: usize = 6;

/// Pads an error page if the place enables it and the browser needs it.
pub(super) fn pad(request: &Request, status: u16, page: &mut Vec<u8>) {
    if status >= 400 && request.place().redirects.msie_padding && agent_is(request, is_padding_required) {
        (0..PADDED_BY).for_each(|_| page.extend_from_slice(PADDING));
    }
}

fn is_padding_required(agent: &[u8]) -> bool {
    is_msie(agent) || agent_contains(agent, b"Chrome/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_padding_is_what_a_short_page_lacks() {
        assert!(PADDING.len() * PADDED_BY + 150 > 512);
    }
}
