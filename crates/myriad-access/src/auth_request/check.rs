//! Check that sends a subrequest, assigns variables from its response, and admits or rejects the request by its status.

use std::sync::Arc;

use myriad_log::Level;
use myriad_script::Assignment;

use myriad_exchange::exchange::{Check, Exchange, Request, Verdict};
use myriad_exchange::subrequest::{self, Subanswer};

/// `auth_request` and `auth_request_set` of a location.
pub(super) struct AuthRequest {
    /// URI of the subrequest.
    pub uri: Box<[u8]>,
    /// Assignments of variables of the subrequest, in order.
    pub sets: Arc<[Assignment]>,
}

impl Check for AuthRequest {
    fn name(&self) -> &'static str {
        "auth_request"
    }

    fn judge(&self, exchange: &mut Exchange) -> Verdict {
        let Ok(child) = subrequest::begin(exchange, &self.uri, b"") else { return Verdict::Fail(500) };
        let (asked, sets) = (subrequest::ask(child), Arc::clone(&self.sets));
        Verdict::wait(async move |exchange| {
            let asked = asked.await;
            verdict(exchange, &sets, asked)
        })
    }

    fn explain(&self, _: &Request) -> (String, Verdict) {
        let uri = String::from_utf8_lossy(&self.uri);
        (format!("would send a subrequest to {uri}; assumed to be allowed"), Verdict::Allow)
    }

    fn identifies(&self) -> bool {
        true
    }
}

/// Assigns the variables of the location from the subrequest, and converts its status to a verdict: 2xx admits, 401 and
/// 403 reject, and any other status is an error.
fn verdict(exchange: &mut Exchange, sets: &[Assignment], mut asked: Subanswer) -> Verdict {
    for set in sets {
        let Exchange { request, frame } = exchange;
        let child = asked.exchange();
        if let Err(error) = set.carry((&child.request, &mut child.frame), (request, frame)) {
            request.log(Level::Error, format_args!("{error}"));
            return Verdict::Fail(500);
        }
    }
    if asked.answer.dropped {
        return Verdict::Fail(444);
    }
    match asked.answer.status {
        200..=299 => Verdict::Allow,
        401 => match asked.fields(b"www-authenticate") {
            values if values.is_empty() => Verdict::Refuse(401),
            values => Verdict::Challenge(values),
        },
        403 => Verdict::Refuse(403),
        status => {
            exchange.request.log(Level::Error, format_args!("auth request unexpected status: {status}"));
            Verdict::Fail(500)
        }
    }
}
