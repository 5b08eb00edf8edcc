//! Requests of clients traced: at the first location of their way, and when they are over.

use std::rc::Rc;

use crate::exchange::Exchange;

/// Takes a request to be traced, or not, as its place says: the first place that says something has the say.
pub fn begin(exchange: &mut Exchange) {
    if exchange.request.place().logs.tracing.is_none() {
        return;
    }
    let site = Rc::clone(&exchange.request.site);
    if let Some(tracing) = &site.runtime.place(exchange.request.route.place).logs.tracing {
        tracing.begin(exchange);
    }
}

/// Tells of a request that is over, when its end has been noted.
pub fn end(exchange: &mut Exchange) {
    if exchange.request.place().logs.tracing.is_none() {
        return;
    }
    let site = Rc::clone(&exchange.request.site);
    if let Some(tracing) = &site.runtime.place(exchange.request.route.place).logs.tracing {
        tracing.end(exchange);
    }
}
