//! Variables of the request's body and size.

use myriad_conf::registry::Status;
use myriad_http::{Known, form};

use super::write::{Row, never_made, number, show};
use crate::exchange::{Gathered, Request};
use crate::runtime::Reads::{Body, BodyFile};
use crate::runtime::Value::{Made, Named, Ready};
use crate::runtime::{NamedValue, Rest};

pub(super) const ROWS: &[Row] = &[
    // `1` if a form buffered in memory has the field.
    Row::new(
        "core",
        "form_field_",
        &[Body],
        Named(NamedValue {
            rest: Rest::text,
            ready: |request, rest| Some(has_form_field(request, rest.as_text()).then_some(b"1")),
            made: never_made,
        }),
    )
    .fares(Status::Own),
    // Also of a chunked body, once it has been buffered.
    Row::new("core", "content_length", &[Body], Made(content_length)),
    // Body buffered in memory.
    Row::new(
        "core",
        "request_body",
        &[Body],
        Ready(|request| request.upload.gathered.as_ref().and_then(Gathered::in_memory)),
    ),
    // File of a body buffered on disk.
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

/// Returns true if the request body is in memory and is a form with this field.
fn has_form_field(request: &Request, name: &str) -> bool {
    let body = request.upload.gathered.as_ref().and_then(Gathered::in_memory);
    let media_type = request.received.head.known(Known::ContentType).unwrap_or_default();
    body.is_some_and(|body| form::has_field(body, media_type, name.as_bytes()))
}

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
