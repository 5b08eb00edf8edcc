//! Variables whose value lies ready as one slice: no copy is made for them.

use myriad_http::{Version, uri};

use myriad_net::TlsFacts;
use myriad_policy::DeviceClass;

use super::{Source, TlsFact};
use crate::exchange::{Gathered, Request, Visit};
use crate::limits::LimitStatus;

/// What [`borrow`] gives: whether the value lies ready, and if so, whether there is one.
type Borrowed<'a> = Option<Option<&'a [u8]>>;

/// The value of `source` as a slice. None: it must be built; `Some(None)`: it does not exist for this request.
pub(crate) fn borrow<'a>(request: &'a Request, source: &'a Source) -> Borrowed<'a> {
    Some(match source {
        Source::Args => Some(&request.args),
        Source::IsArgs => Some(if request.args.is_empty() { b"" } else { b"?" }),
        Source::DeviceClass => Some(DeviceClass::of(request.head.fields()).as_str().as_bytes()),
        Source::Uri => Some(&request.uri),
        Source::RequestUri => Some(request_uri(request.head.target())),
        Source::RequestLine => Some(request.head.request_line()).filter(|line| !line.is_empty()),
        Source::Method if request.as_get => Some(b"GET"),
        Source::Method => Some(request.head.method_bytes()).filter(|method| !method.is_empty()),
        Source::Host => Some(&request.host),
        Source::Hostname => Some(&request.runtime().hostname),
        Source::Scheme => Some(request.scheme().as_bytes()),
        Source::ServerName => Some(&request.server().name),
        Source::ServerProtocol => Some(request.head.version().as_str().as_bytes()),
        Source::Https => Some(if request.connection.tls().is_some() { b"on" } else { b"" }),
        Source::Http3 => Some(if request.head.version() == Version::Http3 { b"h3" } else { b"" }),
        Source::Http2 if request.head.version() != Version::Http2 => Some(b""),
        Source::Http2 => Some(if request.connection.tls().is_some() { b"h2" } else { b"h2c" }),
        Source::RequestBody => request.gathered.as_ref().and_then(Gathered::in_memory),
        Source::RequestBodyFile => request.gathered.as_ref().and_then(Gathered::file_name),
        Source::RequestCompletion => Some(if request.sent.complete { b"OK" } else { b"" }),
        Source::Pipe => Some(if request.sent.pipelined { b"p" } else { b"." }),
        Source::NginxVersion => Some(b"1.31.4"),
        Source::Field(known) => return borrow_field(request, request.head.fields().known_all(*known)),
        Source::OtherField(name) => {
            return borrow_field(request, request.head.fields().variable_all(name.as_bytes()));
        }
        Source::Arg(name) => uri::arg(&request.args, name),
        Source::Cookie(name) => request
            .head
            .fields()
            .known_all(myriad_http::Known::Cookie)
            .find_map(|header| uri::cookie(header, name)),
        Source::OriginField(name) => {
            let head = request.origin.as_ref().and_then(|origin| origin.head.as_ref());
            match head {
                Some(head) => return borrow_field(request, head.fields.get_all(name.as_bytes())),
                None => None,
            }
        }
        Source::Tls(fact) => request.connection.tls().and_then(|facts| tls_fact(facts, *fact)),
        Source::LimitReqStatus => limit_status(request, |visit| visit.requests.get()),
        Source::LimitConnStatus => limit_status(request, |visit| visit.connections.get()),
        Source::CacheStatus => request.cache.status.map(|status| status.as_str().as_bytes()),
        Source::CacheKey => (!request.cache.key.is_empty()).then_some(&request.cache.key),
        _ => return None,
    })
}

fn tls_fact(facts: &TlsFacts, fact: TlsFact) -> Option<&[u8]> {
    let value: &[u8] = match fact {
        TlsFact::Protocol => facts.protocol.as_bytes(),
        TlsFact::Cipher => facts.cipher.as_bytes(),
        TlsFact::Curve => facts.curve.as_bytes(),
        TlsFact::ServerName => facts.server_name.as_deref()?.as_bytes(),
        TlsFact::SessionReused => return Some(if facts.resumed { b"r" } else { b"." }),
        TlsFact::AlpnProtocol => &facts.alpn,
    };
    (!value.is_empty()).then_some(value)
}

/// One value is borrowed; several are joined, which needs a buffer.
fn borrow_field<'a>(_: &'a Request, mut values: impl Iterator<Item = &'a [u8]>) -> Borrowed<'a> {
    let first = values.next();
    if values.next().is_some() { None } else { Some(first) }
}

/// `$request_uri`: of an absolute target only what follows the host (RFC 9112 section 3.2.2), as nginx has it.
pub(crate) fn request_uri(target: &[u8]) -> &[u8] {
    if target.first() == Some(&b'/') {
        return target;
    }
    let Some(scheme) = target.windows(3).position(|window| window == b"://") else { return target };
    let rest = &target[scheme + 3..];
    match rest.iter().position(|byte| matches!(byte, b'/' | b'?')) {
        Some(at) => &rest[at..],
        None => b"/",
    }
}

fn limit_status(request: &Request, status: impl Fn(&Visit) -> Option<LimitStatus>) -> Option<&'static [u8]> {
    let visit = request.visit.as_ref()?;
    status(visit).map(|status| status.as_str().as_bytes())
}
