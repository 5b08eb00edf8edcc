//! `allow` and `deny`.

use crate::error_log::Level;
use crate::exchange::Request;
use crate::runtime::Place;

/// Whether the first rule that covers the client lets it in; without one it comes in.
pub(crate) fn allowed(request: &Request, place: &Place) -> bool {
    if place.access.is_empty() {
        return true;
    }
    // Who asks matters here, and is not among what the rules read.
    request.strayed.set(true);
    let client = request.client();
    let verdict = place.access.iter().find(|(_, network)| network.0(client));
    let allowed = verdict.is_none_or(|(allow, _)| *allow);
    if !allowed {
        request.log(Level::Error, format_args!("access forbidden by rule"));
    }
    allowed
}
