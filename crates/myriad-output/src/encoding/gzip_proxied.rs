//! Response fields on which `gzip_proxied` depends.

use myriad_http::Known;
use myriad_http::cache_control::CacheControl;
use myriad_http::lines::line_named;

use myriad_exchange::exchange::{ContentResponse, Request, ResponseSource};
use myriad_store::page::ProxiedFacts;

/// Returns the response fields on which `gzip_proxied` depends; the default value if the request has no `Via`, i.e. was
/// not sent by a proxy.
pub(crate) fn proxied_facts(request: &Request, answer: &ContentResponse) -> ProxiedFacts {
    if !request.received.head.fields().has(Known::Via) {
        return ProxiedFacts::default();
    }
    let named = |name: &[u8]| line_named(&answer.lines, name);
    let control = CacheControl::parse(named(b"cache-control"));
    let is_file = matches!(answer.source, ResponseSource::File(_));
    let now_s = request.received.wall_s();
    ProxiedFacts {
        expired: named(b"expires").map(|text| ProxiedFacts::is_over(text, now_s)),
        has_cache_control: named(b"cache-control").is_some(),
        no_cache: control.no_cache,
        no_store: control.no_store,
        private: control.private,
        has_last_modified: is_file || named(b"last-modified").is_some(),
        has_etag: is_file || named(b"etag").is_some(),
    }
}
