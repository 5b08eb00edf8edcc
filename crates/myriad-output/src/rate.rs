//! `limit_rate`: limit on the send rate of a body.

use myriad_net::RateLimit;
use myriad_script::Frame;

use myriad_exchange::exchange::{ContentResponse, Request, exchange_buffers, size};
use myriad_exchange::runtime::Place;

/// Returns the rate at which a response is sent, by `X-Accel-Limit-Rate` or `set $limit_rate`, otherwise by
/// `limit_rate`; `None` for no limit, a rate of 0, or an invalid rate.
pub(super) fn rate(
    request: &Request,
    frame: &mut Frame,
    place: &Place,
    answer: &ContentResponse,
) -> Option<RateLimit> {
    let own_rate = answer.limit_rate.or(request.outcome.limit_rate);
    if own_rate.is_none() && place.connection.rates.is_none() {
        return None;
    }
    let mut evaluate = |template: &myriad_script::Template| {
        exchange_buffers::with_buffer(|text| {
            template.eval(request, frame, text).ok()?;
            size::parse_size(text)
        })
    };
    let rates = place.connection.rates.as_ref();
    let bytes_per_second = own_rate.or_else(|| rates.and_then(|rates| evaluate(&rates.rate)))?;
    let after = rates.and_then(|rates| evaluate(&rates.after)).unwrap_or(0);
    (bytes_per_second > 0).then_some(RateLimit { bytes_per_second, after })
}
