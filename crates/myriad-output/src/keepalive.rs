//! Conditions that close a persistent connection: `keepalive_time`, `keepalive_disable`.

use myriad_http::{HttpVersion, Known, Method};

use crate::agents::is_msie6;
use myriad_exchange::exchange::Request;
use myriad_exchange::runtime::KeepAliveRules;

/// Returns whether the connection must be closed after the current response: it is older than `keepalive_time`, or it
/// uses HTTP/1 and `keepalive_disable` applies to the browser (`msie6` only after a POST).
pub(crate) fn ends(request: &Request, rules: &KeepAliveRules) -> bool {
    let is_old =
        request.received.at_ms.saturating_sub(request.received.connection.accepted_ms) > rules.time_ms;
    // `keepalive_disable` applies only to HTTP/1.
    if is_old || matches!(request.received.head.version(), HttpVersion::Http2 | HttpVersion::Http3) {
        return is_old;
    }
    rules.not_msie6 && request.received.head.method() == Method::Post && agent_is(request, is_msie6)
        || rules.not_safari && agent_is(request, is_safari)
}

fn agent_is(request: &Request, test: fn(&[u8]) -> bool) -> bool {
    request.received.head.known(Known::UserAgent).is_some_and(test)
}

/// Returns whether a `User-Agent` passes nginx's test for Safari: it contains `Safari/` and `Mac OS X` (which iOS sends
/// as well), without the names of other browsers that send both.
fn is_safari(agent: &[u8]) -> bool {
    let contains = |word: &[u8]| agent.windows(word.len()).any(|window| window == word);
    let others: [&[u8]; 4] = [b"MSIE ", b"Opera", b"Gecko/", b"Chrome/"];
    contains(b"Safari/") && contains(b"Mac OS X") && !others.into_iter().any(contains)
}

#[cfg(test)]
mod tests {
    use super::is_safari;

    #[test]
    fn safari_is_not_chrome_nor_firefox() {
        assert!(is_safari(
            b"Mozilla/5.0 (Macintosh; Intel Mac OS X 14_0) AppleWebKit/605 (KHTML, like Gecko) Safari/605"
        ));
        assert!(!is_safari(b"Mozilla/5.0 (Macintosh; Intel Mac OS X 14_0) Chrome/120.0 Safari/537.36"));
        assert!(!is_safari(
            b"Mozilla/5.0 (Macintosh; Intel Mac OS X 14.0; rv:1) Gecko/20100101 Firefox/121.0"
        ));
        assert!(!is_safari(b"Mozilla/5.0 (X11; Linux x86_64) Safari/605"));
    }
}
