//! Variables of the request's body and size.

use myriad_http::Known;

use super::write::{Row, number, show};
use crate::exchange::{Gathered, Request};
use crate::runtime::Reads::{Body, BodyFile};
use crate::runtime::Value::{Made, Ready};

pub(super) const ROWS: &[Row] = &[
    // Of a chunked body too, once it was gathered.
    Row::new("core", "content_length", &[Body], Made(content_length)),
    // What was gathered in memory.
    Row::new(
        "core",
        "request_body",
        &[Body],
        Ready(|request| request.upload.gathered.as_ref().and_then(Gathered::in_memory)),
    ),
    // Where it was gathered in a file.
    Row::new(
        "core",
        "request_body_file",
        &[BodyFile],
        Ready(|request| request.upload.gathered.as_ref().and_then(Gathered::file_name)),
    ),
    Row::new(
        "core",
        "request_length",
        &[Body],
        Made(|request, out| {
            let head = u64::from(request.received.head.wire_len());
            show(out, request.outcome.sent.request_bytes.max(head))
        }),
    ),
];

fn content_length(request: &Request, out: &mut Vec<u8>) -> bool {
    match (request.received.head.known(Known::ContentLength), request.upload.length) {
        (_, Some(length)) => number(out, length),
        (Some(value), None) => {
            out.extend_from_slice(value);
            true
        }
        (None, None) => false,
    }
}
