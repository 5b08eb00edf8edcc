//! Tracing of client requests: calls of the configured feature when a request enters a location and when it finishes.

use std::rc::Rc;

use crate::exchange::Exchange;

/// Starts the tracing of a request, if tracing is on in its location. Called for each location that the request enters;
/// the first location with tracing decides whether the request is recorded.
pub fn begin(exchange: &mut Exchange) {
    if exchange.request.place().logs.tracing.is_none() {
        return;
    }
    let site = Rc::clone(&exchange.request.site);
    if let Some(tracing) = &site.runtime.place(exchange.request.route.place).logs.tracing {
        tracing.begin(exchange);
    }
}

/// Reports a finished request to the tracing feature of its location; does nothing without tracing. Called after the
/// request's outcome has been recorded.
pub fn end(exchange: &mut Exchange) {
    if exchange.request.place().logs.tracing.is_none() {
        return;
    }
    let site = Rc::clone(&exchange.request.site);
    if let Some(tracing) = &site.runtime.place(exchange.request.route.place).logs.tracing {
        tracing.end(exchange);
    }
}
