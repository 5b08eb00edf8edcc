//! `msie_padding`: padding of error pages for browsers that replace short error pages with their own.

use myriad_exchange::exchange::Request;
use myriad_exchange::responses::msie::{agent_contains, agent_is, is_msie};

/// Padding text, of which [`PADDED_BY`] copies are appended: MSIE and Chrome replace error pages shorter than 512
/// bytes.
const PADDING: &[u8] = b"<!-- longer than 512 bytes, lest MSIE or Chrome hide this page -->\r\n";
const PADDED_BY: usize = 6;

/// Pads the page of a status from 400 on if `msie_padding` is on and the client is MSIE or Chrome.
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
