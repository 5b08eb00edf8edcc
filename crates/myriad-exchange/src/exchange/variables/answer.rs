//! Variables of the response: its head and the sent bytes.

use super::write::{RequestVariable, joined, never_ready, number, show};
use crate::exchange::Request;
use crate::exchange::size::parse_size;
use crate::runtime::Reads::{Answer, SentFields};
use crate::runtime::RowValue::{Made, Named, Ready};
use crate::runtime::{NameSuffix, NamedValue};

pub(super) const ROWS: &[RequestVariable] = &[
    RequestVariable::new(
        "core",
        "body_bytes_sent",
        &[Answer],
        Made(|request, out| number(out, request.outcome.sent.body_bytes)),
    )
    .plain(),
    RequestVariable::new(
        "core",
        "bytes_sent",
        &[Answer],
        Made(|request, out| number(out, request.outcome.sent.bytes)),
    )
    .plain(),
    RequestVariable::new(
        "core",
        "limit_rate",
        &[Answer],
        Made(|request, out| show(out, request.outcome.limit_rate.unwrap_or(0))),
    )
    .assigned(|request, value| request.outcome.limit_rate = parse_size(value)),
    RequestVariable::new(
        "core",
        "pipe",
        &[Answer],
        Ready(|request| Some(if request.outcome.sent.pipelined { b"p" } else { b"." })),
    ),
    RequestVariable::new(
        "core",
        "request_completion",
        &[Answer],
        Ready(|request| Some(if request.outcome.sent.complete { b"OK" } else { b"" })),
    ),
    RequestVariable::new(
        "core",
        "sent_http_",
        &[SentFields],
        Named(NamedValue { rest: NameSuffix::line, ready: never_ready, made: sent_field }),
    ),
    RequestVariable::new(
        "core",
        "sent_trailer_",
        &[Answer],
        Named(NamedValue {
            rest: NameSuffix::line,
            ready: never_ready,
            made: |request, rest, out| joined(&request.outcome.head.trailers, rest.as_text(), out),
        }),
    ),
    RequestVariable::new("core", "status", &[Answer], Made(status)).plain(),
];

fn status(request: &Request, out: &mut Vec<u8>) -> bool {
    let status = request.status();
    if (100..1000).contains(&status) {
        out.extend([status / 100, status / 10 % 10, status % 10].map(|digit| b'0' + digit as u8));
        return true;
    }
    show(out, format_args!("{status:03}"))
}

/// Appends the value of a sent header field, whose name is in `rest`. Returns false if the response does not have it.
/// `Connection`, `Transfer-Encoding` and `Keep-Alive` are known only after the response was sent, so only log lines can
/// contain them.
fn sent_field(request: &Request, rest: &NameSuffix, out: &mut Vec<u8>) -> bool {
    let sent = &request.outcome.sent;
    match rest.as_text() {
        // With status 101 the field names the new protocol.
        "connection" if sent.bytes > 0 && request.outcome.head.status != 101 => {
            out.extend_from_slice(if sent.keep_alive { b"keep-alive" } else { b"close" });
            true
        }
        "transfer-encoding" if sent.chunked => {
            out.extend_from_slice(b"chunked");
            true
        }
        "keep-alive" if sent.keep_alive && request.place().connection.keepalive_header_s > 0 => {
            show(out, format_args!("timeout={}", request.place().connection.keepalive_header_s))
        }
        "content-type" if let Some(media_type) = &request.outcome.head.unnamed_type => {
            out.extend_from_slice(media_type);
            true
        }
        name => joined(&request.outcome.head.fields, name, out),
    }
}
