//! Finding the location and running what stands before its content.

use myriad_log::Level;

use super::rewrite::Rewritten;
use super::{MAX_REDIRECTS, failed, gate, real_ip, rewrite, try_files};
use crate::content::{self, Step, redirect};
use crate::exchange::{Exchange, Request};
use crate::runtime::Found;

/// Searches the location of the current URI and goes on in it.
pub(crate) fn run(exchange: &mut Exchange) -> Step {
    for _ in 0..=MAX_REDIRECTS {
        let site = std::rc::Rc::clone(&exchange.request.site);
        let server = site.runtime.server(exchange.request.server);
        let Exchange { request, frame } = exchange;
        let remembered = site.memo.route(request.server, &request.uri);
        let found = match remembered {
            Some(found) => Ok(found),
            None => server.locations.find(&request.uri, frame),
        };
        if let (None, Ok(found), true) = (remembered, &found, server.routes_by_uri) {
            site.memo.keep_route(request.server, &request.uri, *found);
        }
        match found {
            Ok(Found::Place(place)) => request.place = place,
            Ok(Found::None) => request.place = server.place,
            Ok(Found::AddSlash(place)) => {
                request.place = place;
                return redirect::add_slash(exchange);
            }
            Err(error) => return failed(exchange, &error),
        }
        if let Some(trace) = &request.trace {
            trace.location(request, !matches!(found, Ok(Found::None)));
        }
        limit_methods(request);
        if request.place().internal && !request.internal {
            return Step::Error(404);
        }
        if let Some(refused) = too_large(exchange) {
            return refused;
        }
        match rewrite::location(exchange) {
            Rewritten::Stay => return arrived(exchange),
            Rewritten::Again => {}
            Rewritten::Step(step) => return step,
        }
    }
    let uri = String::from_utf8_lossy(&exchange.request.uri);
    exchange
        .request
        .log(Level::Error, format_args!("rewrite or internal redirection cycle while processing \"{uri}\""));
    Step::Error(500)
}

/// Goes on in a named location.
pub(crate) fn named(exchange: &mut Exchange, name: &[u8]) -> Step {
    let site = std::rc::Rc::clone(&exchange.request.site);
    let server = site.runtime.server(exchange.request.server);
    let Some(place) = server.locations.named(name) else {
        let name = String::from_utf8_lossy(name);
        exchange.request.log(Level::Error, format_args!("could not find named location \"{name}\""));
        return Step::Error(500);
    };
    exchange.request.place = place;
    limit_methods(&mut exchange.request);
    if let Some(trace) = &exchange.request.trace {
        trace.location(&exchange.request, true);
    }
    match rewrite::location(exchange) {
        Rewritten::Stay => arrived(exchange),
        Rewritten::Again => run(exchange),
        Rewritten::Step(step) => step,
    }
}

/// `limit_except`: before the location's rules, so that a `return` among them does not let in what is denied.
fn limit_methods(request: &mut Request) {
    if let Some(limit) = &request.place().limit_except {
        // An error page is fetched by GET whatever was asked.
        let method: &[u8] = if request.as_get { b"GET" } else { request.head.method_bytes() };
        if !limit.methods.iter().any(|known| **known == *method) {
            request.place = limit.place;
        }
    }
}

/// Refuses a body that announces more than `client_max_body_size`, as nginx does before the location's rules run.
fn too_large(exchange: &Exchange) -> Option<Step> {
    let request = &exchange.request;
    if request.error_status.is_some() {
        // The page for this very error.
        return None;
    }
    let limit = request.place().max_body;
    let length = request.body.length().filter(|length| limit > 0 && *length > limit)?;
    request.log(Level::Error, format_args!("client intended to send too large body: {length} bytes"));
    Some(Step::Error(413))
}

/// The place is known: the size of the body, access, then what the place has.
fn arrived(exchange: &mut Exchange) -> Step {
    let request = &mut exchange.request;
    real_ip::find(request);
    request.debug(|request, log| {
        let (uri, args) = (String::from_utf8_lossy(&request.uri), String::from_utf8_lossy(&request.args));
        log(format_args!("location found, uri: \"{uri}\", args: \"{args}\""));
    });
    let place = request.place();
    request.body.configure(place.max_body, place.body_timeout_ms, place.timeouts.min_rate);
    if place.gate.is_some() {
        return gate::begin(exchange);
    }
    enter(exchange)
}

/// The visitor may come in: `try_files`, content.
pub(super) fn enter(exchange: &mut Exchange) -> Step {
    match try_files::run(exchange) {
        Some(step) => step,
        None => content::begin(exchange),
    }
}
