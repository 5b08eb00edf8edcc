//! Actions that run after the response has been sent (`post_action`).

use std::rc::Rc;

use crate::exchange::Exchange;

/// Starts the action configured after a response (`post_action`), if the location of the finished request has one.
/// Returns true if it was started; the action then writes the access log line.
///
/// Not started for a request that could not be parsed (it has no URI), or if the connection was closed without a
/// response (444).
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
