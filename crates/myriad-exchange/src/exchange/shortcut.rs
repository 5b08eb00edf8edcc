//! Storage of a request's routing result for similar requests.

use crate::exchange::Request;

/// Stores the result of the rules for the request, which has just found its page or file.
pub fn store(request: &Request) {
    let strayed = request.shortcut.depends_on_more.get()
        || request.errors.status.is_some()
        || request.outcome.limit_rate.is_some();
    // The key then depends on the codings, which the rules have not necessarily read.
    let has_other_codings = request.cache.codings.is_some();
    if request.shortcut.read.is_empty() || strayed || has_other_codings || !request.place().shortcut {
        return;
    }
    let until_ms = request.shortcut.valid_until_ms.get();
    request.site.shortcuts.store(&request.shortcut.read, request.received.at_ms, until_ms, |way| {
        way.server = request.route.server;
        way.place = request.route.place;
        way.uri.extend_from_slice(&request.route.uri);
        way.args.extend_from_slice(&request.route.args);
        way.host.extend_from_slice(&request.route.host);
        way.key.extend_from_slice(&request.cache.key);
    });
}
