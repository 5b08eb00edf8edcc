//! Storage of a request's routing result, for similar requests.

use crate::exchange::Request;

/// Stores the routing result of a request that has just found its page or file, for similar requests of this worker.
/// Does nothing if the result depends on anything but the bytes that the routing rules have read (for example on
/// content codings of the client, or on `set $limit_rate`), if no such bytes were recorded, if an error occurred, or if
/// the location does not permit the shortcut.
pub fn store(request: &Request) {
    let strayed = request.shortcut.depends_on_more.get()
        || request.errors.status.is_some()
        || request.outcome.limit_rate.is_some();
    // With such codings, the cache key depends on `Accept-Encoding`, which the rules may not have read.
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
