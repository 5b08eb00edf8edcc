//! Switches to another protocol by an origin's 101 response, such as to WebSocket (RFC 9110 section 7.8), and CONNECT.

use myriad_http::{Known, ResponseHead};
use myriad_log::LogLevel;
use myriad_net::{ResponseBody, Tunnel};
use myriad_upstream::Upgraded;

use crate::answer;
use myriad_exchange::exchange::Exchange;
use myriad_exchange::exchange::PhaseStep;
use myriad_exchange::runtime::OriginPlace;

/// Returns the protocols in the value of an `Upgrade` field (RFC 9110 section 7.8).
pub fn names(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii).filter(|name| !name.is_empty())
}

/// Returns the protocols in the value of an `Upgrade` field that `list` contains, with or without their version,
/// separated by `, `. `h2c` is never returned, because its requests would reach the origin without any access rules.
pub fn allowed(value: &[u8], list: &[Box<[u8]>]) -> Vec<u8> {
    let is_listed = |name: &&[u8]| {
        let bare = name.split(|byte| *byte == b'/').next().unwrap_or_default();
        !bare.eq_ignore_ascii_case(b"h2c")
            && list
                .iter()
                .any(|listed| listed.eq_ignore_ascii_case(name) || listed.eq_ignore_ascii_case(bare))
    };
    names(value).filter(is_listed).collect::<Vec<_>>().join(&b", "[..])
}

/// Returns the step with the response that connects client and origin by a tunnel (such as a WebSocket) and then closes
/// the client connection; error 502 for a subrequest.
pub fn tunnel(
    exchange: &mut Exchange,
    place: &OriginPlace,
    head: ResponseHead,
    upgraded: Upgraded,
) -> PhaseStep {
    if exchange.request.is_subrequest() {
        exchange.request.log(LogLevel::Error, format_args!("connection upgrade in subrequest"));
        return PhaseStep::Error(502);
    }
    let mut answer = answer::client_response(&head, place, true);
    // A response to CONNECT has neither field (RFC 9110 section 9.3.6).
    if head.status == 101 {
        for protocol in head.fields.known_all(Known::Upgrade) {
            answer.field(b"Upgrade", protocol);
        }
        answer.field(b"Connection", b"upgrade");
    }
    answer.compressible = false;
    answer.close = true;
    answer.body = ResponseBody::Tunnel(Box::new(Tunnel {
        stream: Box::pin(upgraded.stream),
        leftover: upgraded.leftover,
        read_ms: place.fetch.timeouts.read_ms,
        send_ms: place.fetch.timeouts.send_ms,
    }));
    exchange.request.origin_mut().head = Some(head);
    PhaseStep::Answer(answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_listed_protocols_are_asked_for_and_h2c_never() {
        let list: Vec<Box<[u8]>> = [&b"websocket"[..], b"irc/6.9", b"h2c"].map(Into::into).into();
        for (value, left) in [
            ("websocket", "websocket"),
            ("WebSocket", "WebSocket"),
            ("websocket/13", "websocket/13"),
            ("h2c", ""),
            ("H2C , websocket,foo", "websocket"),
            ("irc/6.9, irc/6.8, irc", "irc/6.9"),
            ("websockets", ""),
            (", ,", ""),
        ] {
            assert_eq!(allowed(value.as_bytes(), &list), left.as_bytes(), "{value}");
        }
        assert!(allowed(b"websocket", &[]).is_empty());
    }
}
