//! Variables of requests to origins and of their responses.

use std::fmt::Write;

use myriad_conf::registry::DirectiveStatus;
use myriad_http::{Fields, Known};
use myriad_upstream::Attempt;

use myriad_exchange::exchange::Request;
use myriad_exchange::exchange::variables::RequestVariable;
use myriad_exchange::exchange::variables::write::{join, never_ready, single};
use myriad_exchange::runtime::Reads::{Origin, OriginHead};
use myriad_exchange::runtime::RowValue::{Made, Named};
use myriad_exchange::runtime::{Borrowed, NameSuffix, NamedValue};

const LENGTH: DirectiveStatus = DirectiveStatus::Differs(
    "with FastCGI, only the length of the body; nginx also counts the records of the protocol",
);

const COOKIE: DirectiveStatus = DirectiveStatus::Differs(
    "empty in responses from the cache: cookies belong to a single client and are never stored",
);

/// Variables about origins for all protocols (`$upstream_*`); those of a single protocol are defined in its folder.
pub(crate) const VARIABLES: &[RequestVariable] = &[
    RequestVariable::new(
        "upstream",
        "upstream_addr",
        &[Origin],
        Made(|request, out| list(request, out, |attempt, text| text.push_str(&attempt.address))),
    ),
    RequestVariable::new(
        "upstream",
        "upstream_status",
        &[OriginHead],
        Made(|request, out| {
            list(request, out, |attempt, text| match attempt.status {
                0 => text.push('-'),
                status => number(u64::from(status), text),
            })
        }),
    ),
    RequestVariable::new(
        "upstream",
        "upstream_connect_time",
        &[Origin],
        Made(|request, out| list(request, out, |attempt, text| seconds(attempt.connect_ms, text))),
    ),
    RequestVariable::new(
        "upstream",
        "upstream_header_time",
        &[Origin],
        Made(|request, out| list(request, out, |attempt, text| seconds(attempt.header_ms, text))),
    ),
    RequestVariable::new("upstream", "upstream_response_time", &[Origin], Made(response_time)),
    RequestVariable::new(
        "upstream",
        "upstream_bytes_received",
        &[Origin],
        Made(|request, out| list(request, out, |attempt, text| number(attempt.bytes_received, text))),
    ),
    RequestVariable::new(
        "upstream",
        "upstream_bytes_sent",
        &[Origin],
        Made(|request, out| list(request, out, |attempt, text| number(attempt.bytes_sent, text))),
    ),
    RequestVariable::new(
        "upstream",
        "upstream_http_",
        &[OriginHead],
        Named(NamedValue { rest: NameSuffix::line, ready: ready_field, made: made_field }),
    ),
    RequestVariable::new(
        "upstream",
        "upstream_cookie_",
        &[OriginHead],
        Named(NamedValue { rest: NameSuffix::text, ready: never_ready, made: cookie }),
    )
    .with_status(COOKIE),
    RequestVariable::new(
        "upstream",
        "upstream_trailer_",
        &[Origin],
        Named(NamedValue { rest: NameSuffix::line, ready: never_ready, made: trailer }),
    ),
    RequestVariable::new(
        "upstream",
        "upstream_response_length",
        &[Origin],
        Made(|request, out| list(request, out, |attempt, text| number(attempt.response_length, text))),
    )
    .with_status(LENGTH),
];

/// Writes the value that `figure` returns for each attempt, in nginx's list format. Returns `false` if no origin was
/// contacted.
fn list(request: &Request, out: &mut Vec<u8>, figure: impl FnMut(&Attempt, &mut String)) -> bool {
    request.origin.as_ref().is_some_and(|origin| origin.list(out, figure))
}

/// Formats milliseconds like nginx: seconds with three decimals, `-` for `None`.
fn seconds(ms: Option<u64>, text: &mut String) {
    let _ = match ms {
        Some(ms) => write!(text, "{}.{:03}", ms / 1000, ms % 1000),
        None => write!(text, "-"),
    };
}

fn number(value: u64, text: &mut String) {
    // Writing to a string does not fail.
    let _ = write!(text, "{value}");
}

fn response_time(request: &Request, out: &mut Vec<u8>) -> bool {
    let Some(origin) = &request.origin else { return false };
    // While the response head is built, the last response counts as incomplete, even if its body has already arrived.
    let last = origin.attempts.get().len().saturating_sub(1);
    let under_way = request.outcome.finished_ms == 0 && request.errors.status.is_none();
    let mut index = 0;
    origin.list(out, |attempt, text| {
        let is_open = under_way && index == last && attempt.header_ms.is_some();
        seconds(attempt.response_ms.filter(|_| !is_open), text);
        index += 1;
    })
}

/// Returns the fields of the origin's response to this request; `None` if a stored page is served or no response has
/// arrived yet.
fn head(request: &Request) -> Option<&Fields> {
    let is_stored = request.cache.origin_fields.is_some();
    Some(&request.origin.as_ref().filter(|_| !is_stored)?.head.as_ref()?.fields)
}

/// Returns the values of a field in the origin's response, or in the stored page that is served.
fn values<'a>(request: &'a Request, name: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
    let stored = request.cache.origin_fields.iter().flat_map(move |stored| stored.get_all(name));
    stored.chain(head(request).into_iter().flat_map(move |head| head.get_all(name)))
}

fn ready_field<'a>(request: &'a Request, rest: &'a NameSuffix) -> Borrowed<'a> {
    single(values(request, rest.as_text().as_bytes()))
}

fn made_field(request: &Request, rest: &NameSuffix, out: &mut Vec<u8>) -> bool {
    join(values(request, rest.as_text().as_bytes()), b", ", out);
    true
}

fn trailer(request: &Request, rest: &NameSuffix, out: &mut Vec<u8>) -> bool {
    let trailers = request.origin.as_ref().and_then(|origin| origin.trailers.as_ref());
    let Some(trailers) = trailers else { return false };
    let before = out.len();
    join(trailers.borrow().get_all(rest.as_text().as_bytes()), b", ", out);
    out.len() > before
}

/// Writes the value of the first cookie with this name, compared case-insensitively, that the origin sets. Returns
/// `false` if the origin does not set it, and for a stored page.
fn cookie(request: &Request, rest: &NameSuffix, out: &mut Vec<u8>) -> bool {
    let name = rest.as_text().as_bytes();
    let cookies = head(request).into_iter().flat_map(|head| head.known_all(Known::SetCookie));
    let mut values = cookies.filter_map(|cookie| {
        let pair = cookie.split(|byte| *byte == b';').next()?;
        let equals = pair.iter().position(|byte| *byte == b'=')?;
        pair[..equals].trim_ascii().eq_ignore_ascii_case(name).then(|| pair[equals + 1..].trim_ascii())
    });
    let Some(value) = values.next() else { return false };
    out.extend_from_slice(value);
    true
}
