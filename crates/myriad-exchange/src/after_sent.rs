//! What follows an answer that has been sent, begun by whom its place has for it.

use std::rc::Rc;

use crate::exchange::Exchange;

/// Begins what follows a request that is over, where its place has something: then the line of the access log comes from there.
///
/// Nothing follows a request that could not be read, which has no URI, nor one whose connection was dropped instead of an answer (444).
pub fn begin(exchange: &mut Exchange) -> bool {
    if exchange.request.place().logs.after_sent.is_none() {
        return false;
    }
    if exchange.request.route.uri.is_empty() || exchange.request.outcome.sent.status == 0 {
        return false;
    }
    let site = Rc::clone(&exchange.request.site);
    let after_sent = site.runtime.place(exchange.request.route.place).logs.after_sent.as_ref();
    after_sent.is_some_and(|after_sent| after_sent.begin(exchange))
}
