//! Check of `auth_request`: sends a subrequest, assigns variables from its response, and admits or rejects the request
//! by its status.

use std::sync::Arc;

use myriad_log::LogLevel;
use myriad_script::Assignment;

use myriad_exchange::exchange::{Check, CheckVerdict, Exchange, Request};
use myriad_exchange::subrequest::{self, SubrequestResponse};

/// Compiled `auth_request` and `auth_request_set` of a location.
pub(super) struct AuthRequest {
    /// URI of the subrequest whose status admits or rejects the request.
    pub uri: Box<[u8]>,
    /// `auth_request_set`, in source order: variables of the request that are assigned values evaluated in the
    /// subrequest.
    pub sets: Arc<[Assignment]>,
}

impl Check for AuthRequest {
    fn name(&self) -> &'static str {
        "auth_request"
    }

    fn judge(&self, exchange: &mut Exchange) -> CheckVerdict {
        let Ok(child) = subrequest::begin(exchange, &self.uri, b"") else { return CheckVerdict::Fail(500) };
        let (asked, sets) = (subrequest::execute(child), Arc::clone(&self.sets));
        CheckVerdict::wait(async move |exchange| {
            let asked = asked.await;
            verdict(exchange, &sets, asked)
        })
    }

    fn explain(&self, _: &Request) -> (String, CheckVerdict) {
        let uri = String::from_utf8_lossy(&self.uri);
        (format!("would send a subrequest to {uri}; assumed to be allowed"), CheckVerdict::Allow)
    }

    fn identifies(&self) -> bool {
        true
    }
}

/// Assigns the variables of `auth_request_set`, and converts the status of the subrequest to a verdict: 2xx admits the
/// request, 401 and 403 reject it, and any other status results in 500. A failed assignment also results in 500, and a
/// closed connection (`return 444`) in 444.
fn verdict(exchange: &mut Exchange, sets: &[Assignment], mut response: SubrequestResponse) -> CheckVerdict {
    for set in sets {
        let Exchange { request, frame } = exchange;
        let child = response.exchange();
        if let Err(error) = set.carry((&child.request, &mut child.frame), (request, frame)) {
            request.log(LogLevel::Error, format_args!("{error}"));
            return CheckVerdict::Fail(500);
        }
    }
    if response.response.dropped {
        return CheckVerdict::Fail(444);
    }
    match response.response.status {
        200..=299 => CheckVerdict::Allow,
        401 => match response.fields(b"www-authenticate") {
            values if values.is_empty() => CheckVerdict::Refuse(401),
            values => CheckVerdict::Challenge(values),
        },
        403 => CheckVerdict::Refuse(403),
        status => {
            exchange.request.log(LogLevel::Error, format_args!("auth request unexpected status: {status}"));
            CheckVerdict::Fail(500)
        }
    }
}
