//! 101 from an origin: the connection speaks another protocol from now on, as WebSocket does (RFC 9110 section 7.8).

use myriad_http::{Known, ResponseHead};
use myriad_net::{ResponseBody, Tunnel};
use myriad_upstream::Upgraded;

use super::{Step, origin};
use crate::error_log::Level;
use crate::exchange::Exchange;
use crate::runtime::OriginPlace;

/// The answer that lets client and origin speak to each other.
pub(super) fn tunnel(
    exchange: &mut Exchange,
    place: &OriginPlace,
    head: ResponseHead,
    upgraded: Upgraded,
) -> Step {
    if exchange.request.is_subrequest() {
        exchange.request.log(Level::Error, format_args!("connection upgrade in subrequest"));
        return Step::Error(502);
    }
    let mut answer = origin::answer(&head, place, true);
    for protocol in head.fields.known_all(Known::Upgrade) {
        answer.field(b"Upgrade", protocol);
    }
    answer.field(b"Connection", b"upgrade");
    answer.compressible = false;
    answer.close = true;
    answer.body = ResponseBody::Tunnel(Box::new(Tunnel {
        stream: Box::pin(upgraded.stream),
        leftover: upgraded.leftover,
        read_ms: place.timeouts.read_ms,
        send_ms: place.timeouts.send_ms,
    }));
    exchange.request.origin_mut().head = Some(head);
    Step::Answer(answer)
}
