//! Selection of the location, and the phases from there to the content.

use myriad_log::LogLevel;

use super::limits::{MAX_REDIRECTS, script_failed};
use super::report;
use super::rewrite::RewriteOutcome;
use super::{rewrite, try_files};
use crate::features::real_ip;
use myriad_exchange::exchange::PhaseStep;
use myriad_exchange::exchange::{Exchange, Request};
use myriad_exchange::responses::redirect;
use myriad_exchange::tracing;
use myriad_output::allow::SERVER_METHODS;
use myriad_script::locations::LocationMatch;

/// Selects the location of the current URI and runs its phases. Rewrites repeat the selection, up to [`MAX_REDIRECTS`]
/// times.
pub(crate) fn run(exchange: &mut Exchange) -> PhaseStep {
    for _ in 0..=MAX_REDIRECTS {
        let site = std::rc::Rc::clone(&exchange.request.site);
        let server = site.runtime.server(exchange.request.route.server);
        let Exchange { request, frame } = exchange;
        let remembered = site.memo.route(request.route.server, &request.route.uri);
        let found = match remembered {
            Some(found) => Ok(found),
            None => server.locations.find(&request.route.uri, frame),
        };
        if let (None, Ok(found), true) = (remembered, &found, server.routes_by_uri) {
            site.memo.store_route(request.route.server, &request.route.uri, *found);
        }
        match found {
            Ok(LocationMatch::Place(place)) => request.route.place = place,
            Ok(LocationMatch::None) => request.route.place = server.place,
            Ok(LocationMatch::AddSlash(place)) => {
                request.route.place = place;
                return redirect::add_slash(exchange);
            }
            Err(error) => return script_failed(exchange, &error),
        }
        if let Some(sink) = &request.received.sink {
            report::report_location(&**sink, request, !matches!(found, Ok(LocationMatch::None)));
        }
        limit_methods(request);
        if request.place().entry.internal && !request.route.internal {
            return PhaseStep::Error(404);
        }
        tracing::begin(exchange);
        if let Some(refused) = reject_too_large_body(exchange) {
            return refused;
        }
        match rewrite::location(exchange) {
            RewriteOutcome::Stay => return enter_place(exchange),
            RewriteOutcome::Again => {}
            RewriteOutcome::Step(step) => return step,
        }
    }
    let uri = String::from_utf8_lossy(&exchange.request.route.uri);
    exchange.request.log(
        LogLevel::Error,
        format_args!("rewrite or internal redirection cycle while processing \"{uri}\""),
    );
    PhaseStep::Error(500)
}

/// Runs the phases of the named location `name`. If it does not exist, logs an error and returns the step for status
/// 500.
pub(crate) fn run_named(exchange: &mut Exchange, name: &[u8]) -> PhaseStep {
    let site = std::rc::Rc::clone(&exchange.request.site);
    let server = site.runtime.server(exchange.request.route.server);
    let Some(place) = server.locations.named(name) else {
        let name = String::from_utf8_lossy(name);
        exchange.request.log(LogLevel::Error, format_args!("could not find named location \"{name}\""));
        return PhaseStep::Error(500);
    };
    exchange.request.route.place = place;
    limit_methods(&mut exchange.request);
    if let Some(sink) = &exchange.request.received.sink {
        report::report_location(&**sink, &exchange.request, true);
    }
    tracing::begin(exchange);
    match rewrite::location(exchange) {
        RewriteOutcome::Stay => enter_place(exchange),
        RewriteOutcome::Again => run(exchange),
        RewriteOutcome::Step(step) => step,
    }
}

/// Selects the settings of `limit_except` for the request if the location has them and they do not list its method.
/// Called before the rules of the location, so that a `return` does not bypass the restriction.
fn limit_methods(request: &mut Request) {
    if let Some(limit) = &request.place().entry.limit_except {
        // An error page is requested with GET, independently of the method.
        let method: &[u8] = if request.route.as_get { b"GET" } else { request.received.head.method_bytes() };
        if !limit.methods.iter().any(|known| **known == *method) {
            request.route.place = limit.place;
        }
    }
}

/// Returns status 413 if the announced length of the body exceeds `client_max_body_size`; otherwise, without an
/// announced length or a limit, and while the page for an error is generated, `None`. It is called before the
/// location's rules, as in nginx.
fn reject_too_large_body(exchange: &Exchange) -> Option<PhaseStep> {
    let request = &exchange.request;
    if request.errors.status.is_some() {
        // This request already generates the page for an error, perhaps the same error.
        return None;
    }
    let limit = request.place().upload.max_body;
    let length = request.upload.body.length().filter(|length| limit > 0 && *length > limit)?;
    request.log(LogLevel::Error, format_args!("client intended to send too large body: {length} bytes"));
    Some(PhaseStep::Error(413))
}

/// Continues in the selected location: sets the client address and the limits of the request body, then runs the access
/// checks and the content handler.
fn enter_place(exchange: &mut Exchange) -> PhaseStep {
    let request = &mut exchange.request;
    real_ip::set_client_address(request);
    request.debug(|request, log| {
        let (uri, args) =
            (String::from_utf8_lossy(&request.route.uri), String::from_utf8_lossy(&request.route.args));
        log(format_args!("location found, uri: \"{uri}\", args: \"{args}\""));
    });
    let place = request.place();
    request.upload.body.configure(
        place.upload.max_body,
        place.upload.timeout_ms,
        place.connection.timeouts.min_rate,
    );
    match place.entry.gate.clone() {
        Some(gate) => myriad_access::begin(exchange, &gate),
        None => run_admitted(exchange),
    }
}

/// Continues after the access checks have admitted the client: `try_files`, content.
pub(super) fn run_admitted(exchange: &mut Exchange) -> PhaseStep {
    match try_files::run(exchange) {
        Some(step) => step,
        None => content(exchange),
    }
}

/// Runs the content handler of the current location. Returns status 405 for CONNECT if the location creates no tunnels.
pub(super) fn content(exchange: &mut Exchange) -> PhaseStep {
    let site = std::rc::Rc::clone(&exchange.request.site);
    let place = site.runtime.place(exchange.request.route.place);
    if exchange.request.is_connect() && !place.tunnels() {
        return PhaseStep::method_not_allowed(&mut exchange.request, SERVER_METHODS);
    }
    place.handler.begin(exchange)
}
