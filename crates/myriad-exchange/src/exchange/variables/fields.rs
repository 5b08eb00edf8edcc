//! Variables of the request's header fields.

use myriad_http::{Known, uri};

use super::write::{RequestVariable, join, never_made, single};
use crate::exchange::Request;
use crate::runtime::Reads::{Field, NamedCookie, NamedField};
use crate::runtime::RowValue::Named;
use crate::runtime::{Borrowed, FieldRead, NameSuffix, NamedValue};

pub(super) const ROWS: &[RequestVariable] = &[
    RequestVariable::new(
        "core",
        "content_type",
        &[Field(Known::ContentType)],
        Named(NamedValue {
            rest: |_| NameSuffix::Field(FieldRead::Known(Known::ContentType)),
            ready: ready_field,
            made: made_field,
        }),
    ),
    RequestVariable::new(
        "core",
        "cookie_",
        &[NamedCookie],
        Named(NamedValue {
            rest: NameSuffix::text,
            ready: |request, rest| Some(cookie(request, rest)),
            made: never_made,
        }),
    ),
    RequestVariable::new(
        "core",
        "http_",
        &[NamedField],
        Named(NamedValue { rest: NameSuffix::field, ready: ready_field, made: made_field }),
    ),
];

fn ready_field<'a>(request: &'a Request, rest: &'a NameSuffix) -> Borrowed<'a> {
    let fields = request.received.head.fields();
    match rest {
        NameSuffix::Field(FieldRead::Known(known)) => single(fields.known_all(*known)),
        NameSuffix::Field(FieldRead::Other(name)) => single(fields.variable_all(name)),
        _ => Some(None),
    }
}

fn made_field(request: &Request, rest: &NameSuffix, out: &mut Vec<u8>) -> bool {
    let fields = request.received.head.fields();
    match rest {
        NameSuffix::Field(FieldRead::Known(Known::Cookie)) => {
            join(fields.known_all(Known::Cookie), b"; ", out);
        }
        NameSuffix::Field(FieldRead::Known(known)) => join(fields.known_all(*known), b", ", out),
        NameSuffix::Field(FieldRead::Other(name)) => join(fields.variable_all(name), b", ", out),
        _ => {}
    }
    true
}

fn cookie<'a>(request: &'a Request, rest: &NameSuffix) -> Option<&'a [u8]> {
    let mut sent = request.received.head.fields().known_all(Known::Cookie);
    sent.find_map(|header| uri::cookie(header, rest.as_text().as_bytes()))
}
