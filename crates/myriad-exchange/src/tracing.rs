//! Tracing of client requests: hooks at the first location and at completion.

use std::rc::Rc;

use crate::exchange::Exchange;

/// Starts tracing a request if its place has tracing configured. The first place with such a setting decides whether
/// the request is traced.
pub fn begin(exchange: &mut Exchange) {
    if exchange.request.place().logs.tracing.is_none() {
        return;
    }
    let site = Rc::clone(&exchange.request.site);
    if let Some(tracing) = &site.runtime.place(exchange.request.route.place).logs.tracing {
        tracing.begin(exchange);
    }
}

/// Reports a finished request to the tracing of its place, after its outcome has been recorded.
pub fn end(exchange: &mut Exchange) {
    if exchange.request.place().logs.tracing.is_none() {
        return;
    }
    let site = Rc::clone(&exchange.request.site);
    if let Some(tracing) = &site.runtime.place(exchange.request.route.place).logs.tracing {
        tracing.end(exchange);
    }
}
