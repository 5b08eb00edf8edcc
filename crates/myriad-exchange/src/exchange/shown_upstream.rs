//! The origin in lines of the error log.

use super::Request;

/// `, upstream: "http://127.0.0.1:8080/uri"` for the error log, once an origin was asked; the last that was.
pub(super) fn shown_upstream(request: &Request) -> String {
    let Some(facts) = &request.origin else { return String::new() };
    let attempts = facts.attempts.get();
    let Some(attempt) = attempts.last() else { return String::new() };
    let shown = match request.place().handler.origin() {
        Some(origin) => origin.protocol.show(request, &attempt.address),
        // An error page, or where `X-Accel-Redirect` leads: the try was another place's.
        None => format!("http://{}", attempt.address),
    };
    format!(", upstream: \"{shown}\"")
}
