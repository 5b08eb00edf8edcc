//! Variables whose value has to be built.

use std::cell::RefCell;
use std::io::Write;
use std::net::IpAddr;

use myriad_encode::Coding;
use myriad_http::uri::parse_host;
use myriad_http::{Known, date};
use myriad_log::local_time;
use myriad_script::{EvalError, Frame};

use super::{Source, TcpFigure, borrow, write_date};
use crate::exchange::Credentials;
use crate::exchange::origin_facts::seconds;
use crate::exchange::{Request, current_slice, origin_uri, paths};
use crate::runtime::{Condition, Handler, conditions};

/// How `$date_local` and `$date_gmt` are written outside of pages with SSI, which may say it themselves (`timefmt`).
const DATE_FORMAT: &[u8] = b"%A, %d-%b-%Y %H:%M:%S %Z";

/// Appends the value of `source`; false where it does not exist for this request.
pub(crate) fn append(
    request: &Request,
    source: &Source,
    frame: &mut Frame,
    out: &mut Vec<u8>,
) -> Result<bool, EvalError> {
    if let Some(value) = borrow(request, source) {
        out.extend_from_slice(value.unwrap_or_default());
        return Ok(value.is_some());
    }
    match source {
        Source::DocumentRoot => paths::root(request, frame, out)?,
        Source::RealpathRoot => {
            let mut root = frame.take_buffer();
            paths::root(request, frame, &mut root)?;
            let real = std::fs::canonicalize(myriad_files::as_path(&root));
            frame.give_buffer(root);
            match real {
                Ok(path) => out.extend_from_slice(path.as_os_str().as_encoded_bytes()),
                Err(_) => return Ok(false),
            }
        }
        Source::RequestFilename => paths::of_uri(request, &request.uri, frame, out)?,
        Source::FastCgiScriptName => split_uri(request, Half::Script, out)?,
        Source::FastCgiPathInfo => split_uri(request, Half::PathInfo, out)?,
        Source::ContentLength => match (request.head.known(Known::ContentLength), request.body_length) {
            (_, Some(length)) => show(out, length),
            (Some(value), None) => out.extend_from_slice(value),
            (None, None) => return Ok(false),
        },
        Source::Field(known) => {
            let separator: &[u8] = if *known == Known::Cookie { b"; " } else { b", " };
            join(request.head.fields().known_all(*known), separator, out);
        }
        Source::OtherField(name) => join(request.head.fields().variable_all(name.as_bytes()), b", ", out),
        Source::OriginField(name) => {
            let head = request.origin.as_ref().and_then(|origin| origin.head.as_ref());
            if let Some(head) = head {
                join(head.fields.get_all(name.as_bytes()), b", ", out);
            }
        }
        Source::RemoteAddr => address(request.client(), out),
        Source::BinaryRemoteAddr => match request.client() {
            Some(IpAddr::V4(ip)) => out.extend_from_slice(&ip.octets()),
            Some(IpAddr::V6(ip)) => out.extend_from_slice(&ip.octets()),
            None => out.extend_from_slice(b"unix:"),
        },
        Source::RemotePort => match request.real {
            // A proxy that tells the address without the port has no port to show.
            Some(real) if real.port() == 0 => {}
            Some(real) => show(out, real.port()),
            None => peer_port(request, out),
        },
        Source::InvalidReferer => {
            if !referer_is_valid(request)? {
                out.push(b'1');
            }
        }
        Source::PeerAddr => address(request.connection.peer.ip(), out),
        Source::PeerPort => peer_port(request, out),
        Source::ProxiedAddr
        | Source::ProxiedPort
        | Source::ProxiedServerAddr
        | Source::ProxiedServerPort
        | Source::ProxiedFact(_) => return Ok(proxied(request, source, out)),
        Source::RemoteUser => return Ok(remote_user(request, out)),
        Source::ServerAddr => {
            let local = request.connection.local();
            address(local.map(|local| local.ip()), out);
            if local.is_none() {
                out.extend_from_slice(&request.connection.local_path().unwrap_or_default());
            }
        }
        Source::ServerPort => {
            if let Some(local) = request.connection.local() {
                show(out, local.port());
            }
        }
        Source::SentField(name) => return Ok(sent_field(request, name, out)),
        Source::SentTrailer(name) => return Ok(joined(&request.answered.trailers, name, out)),
        Source::ProxyAddForwardedFor => {
            let before = out.len();
            join(request.head.fields().get_all(b"X-Forwarded-For"), b", ", out);
            if out.len() > before {
                out.extend_from_slice(b", ");
            }
            address(request.client(), out);
        }
        Source::ProxyHost | Source::ProxyPort | Source::ProxyUri | Source::ProxyScheme => {
            return Ok(proxy(request, source, out));
        }
        Source::TlsMade(made) => return Ok(super::tls::append(request, *made, out)),
        Source::OriginTrailer(name) => {
            let trailers = request.origin.as_ref().and_then(|origin| origin.trailers.as_ref());
            let Some(trailers) = trailers else { return Ok(false) };
            let before = out.len();
            join(trailers.borrow().get_all(name.as_bytes()), b", ", out);
            return Ok(out.len() > before);
        }
        Source::OriginCookie(name) => return Ok(origin_cookie(request, name, out)),
        source => return Ok(append_figure(request, source, out)),
    }
    Ok(true)
}

/// Counts, times and the like.
fn append_figure(request: &Request, source: &Source, out: &mut Vec<u8>) -> bool {
    // What has waited is as old as it is now; what has not is answered at the moment it came, as by nginx's clock.
    let now = || match (request.finished_ms, request.waited) {
        (0, false) => request.received_ms,
        (0, true) => myriad_net::clock::now_ms(),
        (finished_ms, _) => finished_ms,
    };
    let now_s = || now() / 1000;
    let thousandths = |out: &mut Vec<u8>, ms: u64| show(out, format_args!("{}.{:03}", ms / 1000, ms % 1000));
    match source {
        Source::RequestId => request_id(request, out),
        Source::RequestLength => {
            show(out, request.sent.request_bytes.max(u64::from(request.head.wire_len())));
        }
        Source::RequestTime => thousandths(out, now().saturating_sub(request.received_ms)),
        Source::BytesSent => show(out, request.sent.bytes),
        Source::BodyBytesSent => show(out, request.sent.body_bytes),
        Source::Connection => show(out, request.connection.id),
        Source::ConnectionRequests => show(out, request.number),
        Source::SliceRange => match current_slice(request) {
            Some(slice) => slice.write(out),
            None => return false,
        },
        Source::DateLocal => write_date(DATE_FORMAT, false, out),
        Source::DateGmt => write_date(DATE_FORMAT, true, out),
        Source::ConnectionTime => thousandths(out, now().saturating_sub(request.connection.accepted_ms)),
        Source::TcpInfo(figure) => return tcp_figure(request, *figure, out),
        Source::RequestPort => {
            if let Some(port) = request_port(request) {
                show(out, port);
            }
        }
        Source::IsRequestPort if request_port(request).is_some() => out.push(b':'),
        Source::IsRequestPort => {}
        Source::Msec => thousandths(out, now()),
        Source::TimeLocal => {
            out.extend_from_slice(&date::format_time_local(now_s(), local_time::offset_minutes(now_s())));
        }
        Source::TimeIso8601 => {
            out.extend_from_slice(&date::format_time_iso8601(now_s(), local_time::offset_minutes(now_s())));
        }
        Source::Status => {
            // While an error page is made, that of the error.
            let errors = request.forced_status.or(request.error_status).unwrap_or(0);
            let status = if request.answered.status == 0 { errors } else { request.answered.status };
            show(out, format_args!("{status:03}"));
        }
        Source::ConnectionsActive => show(out, request.site.worker.everybody().active()),
        Source::ConnectionsReading => show(out, request.site.worker.everybody().reading),
        Source::ConnectionsWriting => show(out, request.site.worker.everybody().writing()),
        Source::ConnectionsWaiting => show(out, request.site.worker.everybody().waiting()),
        Source::Pid => show(out, std::process::id()),
        Source::LimitRate => show(out, request.limit_rate.unwrap_or(0)),
        Source::Ratio(coding) => return ratio(request, *coding, out),
        Source::CacheAge => match request.cache.age_s {
            Some(age) => show(out, age),
            None => return false,
        },
        Source::CacheLastModified => return confirmable(request, Condition::ModifiedSince, out),
        Source::CacheEtag => return confirmable(request, Condition::NoneMatch, out),
        source => return append_origin(request, source, out),
    }
    true
}

/// What the origin is asked to confirm of an expired page.
fn confirmable(request: &Request, wanted: Condition, out: &mut Vec<u8>) -> bool {
    let Some(stale) = &request.cache.stale else { return false };
    let asked = conditions(stale).into_iter().find(|(condition, _)| *condition == wanted);
    asked.is_some_and(|(_, value)| {
        out.extend_from_slice(&value);
        true
    })
}

fn tcp_figure(request: &Request, figure: TcpFigure, out: &mut Vec<u8>) -> bool {
    let Some(info) = request.connection.tcp_info() else { return false };
    show(
        out,
        match figure {
            TcpFigure::Rtt => info.rtt,
            TcpFigure::RttVariation => info.rttvar,
            TcpFigure::CongestionWindow => info.snd_cwnd,
            TcpFigure::ReceiveSpace => info.rcv_space,
        },
    );
    true
}

/// The port in `Host`, or in the authority of an absolute target, which has taken its place.
fn request_port(request: &Request) -> Option<u16> {
    parse_host(request.head.known(Known::Host)?).ok()?.port
}

/// A field that was sent. Those of the connection are written last, when the log lines are all that is left to make.
fn sent_field(request: &Request, name: &str, out: &mut Vec<u8>) -> bool {
    let sent = &request.sent;
    match name {
        // Behind 101 it says what the connection has become.
        "connection" if sent.bytes > 0 && request.answered.status != 101 => {
            out.extend_from_slice(if sent.kept { b"keep-alive" } else { b"close" });
            true
        }
        "transfer-encoding" if sent.chunked => {
            out.extend_from_slice(b"chunked");
            true
        }
        "keep-alive" if sent.kept && request.place().keepalive_header_s > 0 => {
            show(out, format_args!("timeout={}", request.place().keepalive_header_s));
            true
        }
        "content-type" if let Some(media_type) = &request.answered.unnamed_type => {
            out.extend_from_slice(media_type);
            true
        }
        _ => joined(&request.answered.fields, name, out),
    }
}

fn append_origin(request: &Request, source: &Source, out: &mut Vec<u8>) -> bool {
    use std::fmt::Write;
    let Some(origin) = &request.origin else { return false };
    match source {
        Source::OriginAddr => origin.list(out, |attempt, text| text.push_str(&attempt.address)),
        Source::OriginStatus => origin.list(out, |attempt, text| {
            let _ = match attempt.status {
                0 => write!(text, "-"),
                status => write!(text, "{status}"),
            };
        }),
        Source::OriginResponseTime => {
            // While the head is made, the last answer is under way, even where all of it has come with its head.
            let last = origin.attempts.get().len().saturating_sub(1);
            let under_way = request.finished_ms == 0 && request.error_status.is_none();
            let mut index = 0;
            origin.list(out, |attempt, text| {
                let is_open = under_way && index == last && attempt.header_ms.is_some();
                seconds(attempt.response_ms.filter(|_| !is_open), text);
                index += 1;
            })
        }
        Source::OriginConnectTime => origin.list(out, |attempt, text| seconds(attempt.connect_ms, text)),
        Source::OriginHeaderTime => origin.list(out, |attempt, text| seconds(attempt.header_ms, text)),
        Source::OriginResponseLength => origin.list(out, |attempt, text| {
            let _ = write!(text, "{}", attempt.response_length);
        }),
        Source::OriginBytesSent => origin.list(out, |attempt, text| {
            let _ = write!(text, "{}", attempt.bytes_sent);
        }),
        Source::OriginBytesReceived => origin.list(out, |attempt, text| {
            let _ = write!(text, "{}", attempt.bytes_received);
        }),
        _ => false,
    }
}

fn show(out: &mut Vec<u8>, value: impl std::fmt::Display) {
    let _ = write!(out, "{value}");
}

fn address(ip: Option<IpAddr>, out: &mut Vec<u8>) {
    match ip {
        Some(ip) => show(out, ip),
        None => out.extend_from_slice(b"unix:"),
    }
}

fn peer_port(request: &Request, out: &mut Vec<u8>) {
    if let myriad_net::Peer::Inet(peer) = request.connection.peer {
        show(out, peer.port());
    }
}

/// What the PROXY protocol said of the client.
fn proxied(request: &Request, source: &Source, out: &mut Vec<u8>) -> bool {
    let Some(header) = request.connection.proxied.get() else { return false };
    match source {
        Source::ProxiedAddr => show(out, header.source.ip()),
        Source::ProxiedPort => show(out, header.source.port()),
        Source::ProxiedServerAddr => show(out, header.destination.ip()),
        Source::ProxiedServerPort => show(out, header.destination.port()),
        Source::ProxiedFact(fact) => return fact.is_some_and(|fact| header.tlv(fact, out)),
        _ => return false,
    }
    true
}

fn join<'a>(values: impl Iterator<Item = &'a [u8]>, separator: &[u8], out: &mut Vec<u8>) {
    for (index, value) in values.enumerate() {
        if index > 0 {
            out.extend_from_slice(separator);
        }
        out.extend_from_slice(value);
    }
}

/// The user of `Authorization: Basic`, as the access log shows it; nothing has checked it.
fn remote_user(request: &Request, out: &mut Vec<u8>) -> bool {
    let Some(credentials) = Credentials::of(request) else { return false };
    out.extend_from_slice(credentials.user());
    true
}

/// The values of all lines with that name.
fn joined(lines: &[u8], name: &str, out: &mut Vec<u8>) -> bool {
    let before = out.len();
    let mut found = false;
    for line in lines.split(|byte| *byte == b'\n') {
        let line = line.trim_ascii_end();
        let Some(colon) = line.iter().position(|byte| *byte == b':') else { continue };
        if line[..colon].eq_ignore_ascii_case(name.as_bytes()) {
            if out.len() > before {
                out.extend_from_slice(b", ");
            }
            out.extend_from_slice(line[colon + 1..].trim_ascii());
            found = true;
        }
    }
    found
}

/// Sixteen bytes that no other request has, in hexadecimal: a process seed, the connection and its request number.
fn request_id(request: &Request, out: &mut Vec<u8>) {
    use std::hash::{BuildHasher, RandomState};
    static SEEDS: std::sync::OnceLock<(RandomState, RandomState)> = std::sync::OnceLock::new();
    let (first, second) = SEEDS.get_or_init(|| (RandomState::new(), RandomState::new()));
    // A subrequest has the number of the request it belongs to.
    let began_ms = request.lineage.as_ref().map_or(request.received_ms, |lineage| lineage.began_ms);
    let identity = (request.connection.id, request.number, began_ms);
    show(out, format_args!("{:016x}{:016x}", first.hash_one(identity), second.hash_one(identity)));
}

fn ratio(request: &Request, coding: Coding, out: &mut Vec<u8>) -> bool {
    if request.answered.coding != coding {
        return false;
    }
    let (whole, sent) = match &request.answered.tally {
        Some(tally) => (tally.taken.get(), tally.given.get()),
        None => (request.answered.uncompressed, request.sent.body_bytes),
    };
    if whole == 0 || sent == 0 {
        return false;
    }
    // Rounded as nginx does: 2.125 is 2.13.
    let hundredths = (whole.saturating_mul(1000) / sent + 5) / 10;
    show(out, format_args!("{}.{:02}", hundredths / 100, hundredths % 100));
    true
}

/// The value that the origin sets a cookie to.
fn origin_cookie(request: &Request, name: &[u8], out: &mut Vec<u8>) -> bool {
    let head = request.origin.as_ref().and_then(|origin| origin.head.as_ref());
    let cookies = head.into_iter().flat_map(|head| head.fields.known_all(Known::SetCookie));
    let mut values = cookies.filter_map(|cookie| {
        let pair = cookie.split(|byte| *byte == b';').next()?;
        let equals = pair.iter().position(|byte| *byte == b'=')?;
        pair[..equals].trim_ascii().eq_ignore_ascii_case(name).then(|| pair[equals + 1..].trim_ascii())
    });
    match values.next() {
        Some(value) => {
            out.extend_from_slice(value);
            true
        }
        None => false,
    }
}

/// What follows from the URL of `proxy_pass`; nothing where the place has none.
fn proxy(request: &Request, source: &Source, out: &mut Vec<u8>) -> bool {
    let Handler::Origin(origin) = &request.place().handler else { return false };
    let Some(http) = &origin.http else { return false };
    let Some(url) = origin_uri::url(request, http) else { return false };
    match source {
        Source::ProxyHost => out.extend_from_slice(url.proxy_host().as_bytes()),
        Source::ProxyPort => out.extend_from_slice(url.proxy_port().as_bytes()),
        Source::ProxyScheme => out.extend_from_slice(url.scheme().as_bytes()),
        _ => origin_uri::write_uri(request, http, out),
    }
    true
}

#[derive(Clone, Copy, PartialEq)]
enum Half {
    Script,
    PathInfo,
}

fn referer_is_valid(request: &Request) -> Result<bool, EvalError> {
    let Some(referers) = &request.place().referers else { return Ok(true) };
    let sent = request.head.known(Known::Referer);
    // nginx's regexes of referers set no captures.
    SPLIT.with_borrow_mut(|frame| referers.is_valid(sent, frame))
}

thread_local! {
    /// A frame for what is matched beside the rules: the location's captures must survive, for they may stand in other parameters.
    static SPLIT: RefCell<Frame> = RefCell::new(Frame::new());
}

/// `fastcgi_split_path_info` applied to the URI, and `fastcgi_index` where it ends in a slash.
fn split_uri(request: &Request, half: Half, out: &mut Vec<u8>) -> Result<(), EvalError> {
    let origin = match &request.place().handler {
        Handler::Origin(origin) => Some(origin),
        Handler::Files | Handler::StubStatus | Handler::Api(_) | Handler::Purge(_) => None,
    };
    let split = match origin.and_then(|origin| origin.split_path_info.as_ref()) {
        None => false,
        Some(regex) => SPLIT.with_borrow_mut(|frame| {
            let matched = regex.matches(&request.uri, frame)?;
            if matched {
                let group = if half == Half::Script { 1 } else { 2 };
                out.extend_from_slice(frame.capture(group).unwrap_or_default());
            }
            Ok(matched)
        })?,
    };
    if half == Half::PathInfo {
        return Ok(());
    }
    if !split {
        out.extend_from_slice(&request.uri);
    }
    if let Some(origin) = origin.filter(|_| out.ends_with(b"/")) {
        out.extend_from_slice(&origin.index);
    }
    Ok(())
}
