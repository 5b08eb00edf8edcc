//! The way that a request took, kept for those like it.

use crate::exchange::Request;

/// Keeps what the rules came to for the request, which has just found its page or its file.
pub(super) fn keep(request: &Request) {
    let strayed = request.strayed.get() || request.error_status.is_some() || request.limit_rate.is_some();
    // The rules need not have read the codings that the key depends on then.
    let apart = request.cache.codings.is_some();
    if request.read.is_empty() || strayed || apart || !request.place().shortcut {
        return;
    }
    let until_ms = request.believed_until_ms.get();
    request.site.shortcuts.keep(&request.read, request.received_ms, until_ms, |way| {
        way.server = request.server;
        way.place = request.place;
        way.uri.extend_from_slice(&request.uri);
        way.args.extend_from_slice(&request.args);
        way.host.extend_from_slice(&request.host);
        way.key.extend_from_slice(&request.cache.key);
    });
}
