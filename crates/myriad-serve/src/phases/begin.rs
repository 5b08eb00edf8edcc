//! First phases: shortcut, selection of the server, normalization of the URI.

use myriad_http::uri::{normalize_path, parse_host, split_target};
use myriad_http::{HttpVersion, Known, Method};
use myriad_log::LogLevel;
use myriad_net::service::Rejection;

use super::errors;
use super::report;
use super::run::{PhaseDecision, PhaseEntry, run};
use super::{challenge, client, locate, rewrite, server_options, shortcut};
use crate::features::{https_only, real_ip};
use myriad_admin::purge::request as purge;
use myriad_exchange::counting;
use myriad_exchange::exchange::{Exchange, PhaseStep, Request};
use myriad_output::allow::SERVER_METHODS;
use myriad_script::Frame;

/// Counts the start of a request whose head has been received, and runs its processing phases: uses the routing result
/// of an earlier, equal request (shortcut) if possible and no ACME challenge is pending, otherwise starts with the
/// selection of the server.
pub(crate) fn begin(exchange: &mut Exchange) -> PhaseDecision {
    if !challenge::is_pending(exchange)
        && let Some(step) = shortcut::take(exchange)
    {
        counting::begin(&exchange.request);
        return run(exchange, PhaseEntry::Step(step));
    }
    let chosen = choose_server(exchange);
    counting::begin(&exchange.request);
    run_server(exchange, chosen)
}

/// Runs the processing phases for a request that this server has made itself. It is not counted, and does not use the
/// shortcut.
pub(crate) fn begin_internal(exchange: &mut Exchange) -> PhaseDecision {
    let chosen = choose_server(exchange);
    run_server(exchange, chosen)
}

/// Runs the processing phases from the checks of the selected server on. `chosen` is the result of its selection.
fn run_server(exchange: &mut Exchange, chosen: Result<(), u16>) -> PhaseDecision {
    let entry = match chosen {
        Ok(()) if is_never_allowed(exchange) => {
            exchange.request.errors.supported = SERVER_METHODS;
            PhaseEntry::Step(reject_and_close(exchange, 405, "client sent method that is not allowed"))
        }
        Ok(()) if has_body_before_tunnel(exchange) => {
            PhaseEntry::Step(reject_and_close(exchange, 400, "client sent CONNECT with a body"))
        }
        Ok(()) if !server_supports_version(exchange) => {
            let message =
                "client attempted to request the server name for which the negotiated protocol is disabled";
            PhaseEntry::Step(reject_and_close(exchange, 421, message))
        }
        Ok(()) if exchange.request.received.connection.plain_to_tls.get() => {
            PhaseEntry::Step(reject_and_close(exchange, 497, "client sent plain HTTP request to HTTPS port"))
        }
        Ok(()) if let Some(check) = client::required_status_check(exchange) => {
            PhaseEntry::Step(PhaseStep::Wait(Box::new(async move |exchange: &mut Exchange| {
                client::run_status_check(exchange, check).await;
                match enter_known_client(exchange) {
                    PhaseEntry::Step(step) => step,
                    _ => rewrite::server(exchange).unwrap_or_else(|| locate::run(exchange)),
                }
            })))
        }
        Ok(()) => enter_known_client(exchange),
        Err(status) => PhaseEntry::Step(reject_and_close(exchange, status, "client sent invalid host")),
    };
    run(exchange, entry)
}

/// Continues with a request whose server is selected and whose client certificate needs no further OCSP query.
fn enter_known_client(exchange: &mut Exchange) -> PhaseEntry {
    if let Some(refusal) = client::check_client(exchange) {
        return PhaseEntry::Step(reject_and_close(exchange, refusal.status, &refusal.message));
    }
    if server_options::is_server_options(&exchange.request) {
        real_ip::set_client_address(&mut exchange.request);
        return PhaseEntry::Step(server_options::answer());
    }
    match normalise(exchange) {
        Ok(()) => {
            real_ip::set_client_address(&mut exchange.request);
            if let Some(sink) = &exchange.request.received.sink {
                report::report_server(&**sink, &exchange.request);
            }
            let answer = if challenge::is_pending(exchange) { challenge::answer(exchange) } else { None };
            let answer = answer.or_else(|| purge_many_urls(exchange));
            let answer = answer.or_else(|| https_only::redirect_to_https(exchange));
            #[cfg(feature = "optimizer")]
            let answer = match &exchange.request.route.uri[..] {
                // Paths of bundles start with `/_myriad/`; most requests need no further comparison.
                [b'/', b'_', ..] if answer.is_none() => send_bundle(exchange),
                _ => answer,
            };
            answer.map_or(PhaseEntry::Server, PhaseEntry::Step)
        }
        Err(status) => PhaseEntry::Step(reject_and_close(exchange, status, "client sent invalid URI")),
    }
}

/// Handles a request for a bundle of the page optimizer; `None` for other requests. The rules of the server may reject
/// it or rewrite its URI; a path that is no bundle belongs to the site.
#[cfg(feature = "optimizer")]
fn send_bundle(exchange: &mut Exchange) -> Option<PhaseStep> {
    if !myriad_cache::optimize::names_bundle(&exchange.request) {
        return None;
    }
    let rewrites = exchange.request.route.form.rewrites;
    if let Some(refused) = rewrite::server(exchange) {
        return Some(refused);
    }
    let bundle = if exchange.request.route.form.rewrites == rewrites {
        myriad_cache::optimize::bundle_response(exchange)
    } else {
        None
    };
    Some(bundle.unwrap_or_else(|| locate::run(exchange)))
}

/// Handles a purge of several URLs; `None` if the request is no such purge. The server's rules may reject it like any
/// request; if they rewrite its URI, the location of the new URI handles it.
fn purge_many_urls(exchange: &mut Exchange) -> Option<PhaseStep> {
    let wanted = purge::multiple_purge(&exchange.request)?;
    let rewrites = exchange.request.route.form.rewrites;
    let refused = rewrite::server(exchange);
    Some(refused.unwrap_or_else(|| {
        if exchange.request.route.form.rewrites == rewrites {
            purge::purge_server_zones(exchange, wanted)
        } else {
            locate::run(exchange)
        }
    }))
}

/// Returns the decision for a request whose head could not be parsed or did not arrive in time: an error response of
/// the listener's default server, which counts the request. The reason is logged at level `info`.
pub(crate) fn reject(exchange: &mut Exchange, why: &Rejection) -> PhaseDecision {
    default_server(exchange);
    counting::begin(&exchange.request);
    let status = match why {
        Rejection::Malformed(error) => {
            let what = error.as_str();
            let message =
                format_args!("client sent invalid request while reading client request headers: {what}");
            exchange.request.log(LogLevel::Info, message);
            error.error_page_code()
        }
        Rejection::TimedOut => {
            exchange
                .request
                .log(LogLevel::Info, format_args!("client timed out while reading client request headers"));
            408
        }
    };
    run(exchange, PhaseEntry::Step(PhaseStep::Error(status)))
}

/// Logs `message` at level `info` and returns the step for an error with this status. The connection is closed after
/// the response, unless an internal redirect to an `error_page` generates it.
fn reject_and_close(exchange: &mut Exchange, status: u16, message: &str) -> PhaseStep {
    exchange.request.log(LogLevel::Info, format_args!("{message}"));
    match errors::error_step(exchange, status) {
        PhaseStep::Answer(mut answer) => {
            answer.close = true;
            PhaseStep::Answer(answer)
        }
        step => step,
    }
}

/// Returns whether the method is rejected before all rules, as in nginx: `TRACE`, because its response would show a
/// script data that the browser hides from scripts, and `CONNECT`, unless the server has tunnels and the version is
/// HTTP/1.1.
fn is_never_allowed(exchange: &Exchange) -> bool {
    let request = &exchange.request;
    match request.received.head.method() {
        Method::Trace => true,
        Method::Connect => {
            !request.server().tunnels || request.received.head.version() != HttpVersion::Http11
        }
        _ => false,
    }
}

/// Returns whether this is a CONNECT request that announces a body. Data after its head is for the target of the tunnel
/// (RFC 9110 section 9.3.6), so other servers would interpret such a body differently.
fn has_body_before_tunnel(exchange: &Exchange) -> bool {
    let request = &exchange.request;
    request.is_connect() && !request.upload.body.is_empty()
}

/// Returns whether the selected server supports the HTTP version of the request, which was perhaps negotiated with
/// another server of the same address. HTTP/2 is supported if the server or any `listen` of the address enables it,
/// HTTP/3 only if the server enables it; HTTP/1.0 and HTTP/1.1 always are.
fn server_supports_version(exchange: &Exchange) -> bool {
    let request = &exchange.request;
    match request.received.head.version() {
        HttpVersion::Http10 | HttpVersion::Http11 => true,
        HttpVersion::Http2 => {
            let hosts = || request.site.runtime.hosts(&request.received.connection);
            request.server().http2 || hosts().is_some_and(|hosts| hosts.http2)
        }
        HttpVersion::Http3 => request.server().http3.enabled,
    }
}

fn default_server(exchange: &mut Exchange) {
    let runtime = &exchange.request.site.runtime;
    let server = runtime.hosts(&exchange.request.received.connection).map_or(0, |hosts| hosts.default);
    exchange.request.route.server = server;
    exchange.request.route.place = runtime.server(server).place;
}

/// Selects the server by the host of the target if it contains one (RFC 9112 section 3.2.2), otherwise by `Host`. A
/// forwarded host replaces that host if it matches no name of a server. Selects the default server if no name matches.
/// Returns the status of the error response if the host or the target is invalid, or a regex of `server_name` cannot be
/// evaluated.
fn choose_server(exchange: &mut Exchange) -> Result<(), u16> {
    default_server(exchange);
    let site = std::rc::Rc::clone(&exchange.request.site);
    let Exchange { request, frame } = exchange;
    let target = request.received.head.target();
    let authority = if request.received.head.method() == Method::Connect {
        Some(target)
    } else if target.first() == Some(&b'/') {
        None
    } else {
        split_target(target).map_err(myriad_http::uri::UriError::status)?.authority
    };
    if let Some(authority) = authority.map(<[u8]>::to_vec) {
        // RFC 9112 section 3.2.2: the authority replaces `Host`, for this server and for origins.
        request.received.head.set_host(&authority).map_err(myriad_http::ParseError::status)?;
    }
    if let Some(host) = request.forwarded_host().map(<[u8]>::to_vec)
        && !names_a_server(request, frame)?
    {
        request.received.head.set_host(&host).map_err(myriad_http::ParseError::status)?;
    }
    let sent = request.received.head.known(Known::Host);
    if let Some(sent) = sent.filter(|sent| !sent.is_empty()) {
        let host = parse_host(sent).map_err(myriad_http::uri::UriError::status)?;
        request.route.host.clear();
        request.route.host.extend_from_slice(&host.name);
        if let Some(hosts) = site.runtime.hosts(&request.received.connection) {
            match hosts.names.find(&request.route.host, frame) {
                Ok(Some(server)) => {
                    request.route.server = server;
                    request.route.place = site.runtime.server(server).place;
                }
                Ok(None) => {}
                Err(_) => return Err(400),
            }
        }
    } else {
        if let Some(hosts) = site.runtime.hosts(&request.received.connection)
            && let Ok(Some(server)) = hosts.names.find(b"", frame)
        {
            request.route.server = server;
            request.route.place = site.runtime.server(server).place;
        }
        let name = &site.runtime.server(request.route.server).name;
        request.route.host.extend_from_slice(name);
    }
    Ok(())
}

/// Returns whether `Host` matches a name of a server of the connection's address. If so, it is not replaced by
/// `X-Forwarded-Host`: a proxy that forwards `Host` unchanged may also forward an `X-Forwarded-Host` of the client,
/// which could then select another site, or store a page under the name of another site.
///
/// # Errors
/// Returns status 400 if a regular expression of `server_name` cannot be evaluated for the host.
fn names_a_server(request: &Request, frame: &mut Frame) -> Result<bool, u16> {
    let sent = request.received.head.known(Known::Host).filter(|sent| !sent.is_empty());
    let Some(Ok(host)) = sent.map(parse_host) else { return Ok(false) };
    let Some(hosts) = request.site.runtime.hosts(&request.received.connection) else { return Ok(false) };
    hosts.names.find(&host.name, frame).map(|server| server.is_some()).map_err(|_| 400)
}

fn normalise(exchange: &mut Exchange) -> Result<(), u16> {
    let request = &mut exchange.request;
    let merge = request.site.runtime.server(request.route.server).merge_slashes;
    let target = request.received.head.target();
    if request.received.head.method() == Method::Connect {
        // The target of CONNECT has no path: as in nginx, rules and locations see `/`.
        request.route.uri.clear();
        request.route.uri.push(b'/');
        return Ok(());
    }
    let split = split_target(target).map_err(myriad_http::uri::UriError::status)?;
    request.route.uri.clear();
    normalize_path(split.path, merge, &mut request.route.uri).map_err(myriad_http::uri::UriError::status)?;
    request.route.args.clear();
    request.route.args.extend_from_slice(split.query.unwrap_or_default());
    request.route.form.escaped = split.path.iter().any(|byte| matches!(byte, b'%' | b'+'));
    Ok(())
}
