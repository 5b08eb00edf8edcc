//! Description of the origin in lines of the error log about a request.

use super::Request;

/// Returns the text `, upstream: "http://127.0.0.1:8080/uri"` with the last origin contacted; empty if none was.
pub(super) fn shown_upstream(request: &Request) -> String {
    let Some(facts) = &request.origin else { return String::new() };
    let attempts = facts.attempts.get();
    let Some(attempt) = attempts.last() else { return String::new() };
    let shown = match request.place().handler.origin() {
        Some(origin) => origin.protocol.show(request, &attempt.address),
        // On an error page or after `X-Accel-Redirect`, the attempt belongs to another location.
        None => format!("http://{}", attempt.address),
    };
    format!(", upstream: \"{shown}\"")
}
