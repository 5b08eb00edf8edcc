//! The way that a request took, kept for those like it.

use crate::exchange::Request;

/// Keeps what the rules came to for the request, which has just found its page or its file.
pub fn keep(request: &Request) {
    let strayed = request.shortcut.strayed.get()
        || request.errors.status.is_some()
        || request.outcome.limit_rate.is_some();
    // The rules need not have read the codings that the key depends on then.
    let apart = request.cache.codings.is_some();
    if request.shortcut.read.is_empty() || strayed || apart || !request.place().shortcut {
        return;
    }
    let until_ms = request.shortcut.believed_until_ms.get();
    request.site.shortcuts.keep(&request.shortcut.read, request.received.at_ms, until_ms, |way| {
        way.server = request.route.server;
        way.place = request.route.place;
        way.uri.extend_from_slice(&request.route.uri);
        way.args.extend_from_slice(&request.route.args);
        way.host.extend_from_slice(&request.route.host);
        way.key.extend_from_slice(&request.cache.key);
    });
}
