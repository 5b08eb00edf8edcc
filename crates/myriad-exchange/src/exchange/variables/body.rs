//! Variables of the request's body and of the size of the request.

use myriad_conf::registry::DirectiveStatus;
use myriad_http::{Known, form};

use super::write::{RequestVariable, never_made, number, show};
use crate::exchange::{BufferedBody, Request};
use crate::runtime::Reads::{Body, BodyFile};
use crate::runtime::RowValue::{Made, Named, Ready};
use crate::runtime::{NameSuffix, NamedValue};

pub(super) const ROWS: &[RequestVariable] = &[
    // `1` if a form buffered in memory has the field.
    RequestVariable::new(
        "core",
        "form_field_",
        &[Body],
        Named(NamedValue {
            rest: NameSuffix::text,
            ready: |request, rest| Some(has_form_field(request, rest.as_text()).then_some(b"1")),
            made: never_made,
        }),
    )
    .with_status(DirectiveStatus::Own),
    // Known for a chunked body, too, once it has been buffered.
    RequestVariable::new("core", "content_length", &[Body], Made(content_length)),
    // Only of a body buffered in memory.
    RequestVariable::new(
        "core",
        "request_body",
        &[Body],
        Ready(|request| request.upload.buffered.as_ref().and_then(BufferedBody::in_memory)),
    ),
    // Only of a body buffered in a file.
    RequestVariable::new(
        "core",
        "request_body_file",
        &[BodyFile],
        Ready(|request| request.upload.buffered.as_ref().and_then(BufferedBody::file_name)),
    ),
    RequestVariable::new(
        "core",
        "request_length",
        &[Body],
        Made(|request, out| {
            let head = u64::from(request.received.head.wire_len());
            show(out, request.outcome.sent.request_bytes.max(head))
        }),
    ),
];

/// Returns true if the request body is in memory, and is a form that contains this field.
fn has_form_field(request: &Request, name: &str) -> bool {
    let body = request.upload.buffered.as_ref().and_then(BufferedBody::in_memory);
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
