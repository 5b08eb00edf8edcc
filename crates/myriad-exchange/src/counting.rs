//! A finished exchange counted by whom its place has for it.

use std::rc::Rc;

use crate::exchange::Exchange;

/// Counts a finished exchange, where its place has somebody who does.
pub fn count(exchange: &mut Exchange) {
    if exchange.request.place().logs.counting.is_none() {
        return;
    }
    let site = Rc::clone(&exchange.request.site);
    if exchange.request.outcome.finished_ms == 0 {
        exchange.request.outcome.finished_ms = myriad_net::clock::now_ms();
    }
    if let Some(counting) = &site.runtime.place(exchange.request.route.place).logs.counting {
        counting.count(exchange);
    }
}
