//! Invalidation of stored pages after a successful unsafe request (RFC 9111 section 4.4): `*_cache_invalidate`,
//! `cache_rfc9111`.

use myriad_http::head::HttpVersion;
use myriad_http::uri::{normalize_path, split_target};
use myriad_http::{Known, RequestHead, ResponseHead};
use myriad_log::LogLevel;
use myriad_policy::{Invalidated, PurgeTarget, invalidates};

use myriad_admin::purge;
use myriad_exchange::exchange::{Exchange, Request};
use myriad_exchange::keys::page_key;
use myriad_exchange::runtime::CachePlace;
use myriad_store::page::key::CODINGS;

/// Removes or invalidates pages after the response to a request with an unsafe method, if `*_cache_invalidate` or
/// `cache_rfc9111` applies to the status.
///
/// Depending on the configuration, the pages of the request's URI and of the URIs on this host that the response names
/// (`Location`, `Content-Location`) are removed, or only those that the response names are invalidated. Fetches in
/// flight are included. The client gets the response afterwards.
pub(crate) async fn after(exchange: &Exchange, cache: &CachePlace, head: &ResponseHead) {
    let request = &exchange.request;
    let Some(invalidated) = invalidates(request.received.head.method(), head.status, &cache.rules) else {
        return;
    };
    let named = [Known::Location, Known::ContentLocation].into_iter().filter_map(|name| head.known(name));
    let named = named.filter_map(|reference| target_here(request, reference));
    match invalidated {
        Invalidated::Named => invalidate_urls(request, cache, named).await,
        Invalidated::All => {
            remove(exchange, cache, std::iter::once(request.received.head.target().to_vec()).chain(named));
        }
    }
}

/// Invalidates the pages of these targets, so that each is fetched before it is served again. A failure is logged.
///
/// A client that follows a redirect to such a page must see the change that its request caused, such as a new comment.
/// The pages remain stored for the case that a fetch fails, because any client can cause this invalidation.
async fn invalidate_urls(request: &Request, cache: &CachePlace, targets: impl Iterator<Item = Vec<u8>>) {
    let url = |target: Vec<u8>| PurgeTarget::Url {
        host: request.route.host.as_slice().into(),
        target: target.into(),
    };
    let urls: Vec<PurgeTarget> = targets.map(url).collect();
    if !urls.is_empty()
        && let Err(error) = purge::invalidate(&cache.zone, urls).await
    {
        request.log(
            LogLevel::Error,
            format_args!(
                "the pages in \"Location\" and \"Content-Location\" could not be invalidated: {error}"
            ),
        );
    }
}

/// Removes the pages of these targets. A target that is not a valid URI, and one whose key cannot be evaluated, is
/// skipped. A failure is logged.
fn remove(exchange: &Exchange, cache: &CachePlace, targets: impl Iterator<Item = Vec<u8>>) {
    let key_of = |target: Vec<u8>| {
        let mut reader = exchange.snapshot();
        rewrite_to_get(&mut reader.request, &target).then(|| page_key::of(&mut reader, cache).ok())?
    };
    if let Err(error) = purge::remove_keys(&cache.zone, targets.filter_map(key_of).collect()) {
        let text = format_args!("the pages of an unsafe request could not be removed: {error}");
        exchange.request.log(LogLevel::Error, text);
    }
}

/// Removes the pages under these keys from all nodes of the zone's cluster, and pages of other nodes that this node may use.
/// Does nothing outside of a cluster. A failure is logged.
pub(crate) fn remove_from_cluster(request: &Request, cache: &CachePlace, keys: Vec<Vec<u8>>) {
    // The purge of a key also covers the key for other codings.
    let keys: Vec<Vec<u8>> = keys
        .into_iter()
        .map(|key| key.strip_suffix(CODINGS).map_or_else(|| key.clone(), <[u8]>::to_vec))
        .collect();
    if cache.zone.publisher.lock().is_some()
        && let Err(error) = purge::remove_keys(&cache.zone, keys)
    {
        let text = format_args!("the page could not be removed from the other nodes of the cluster: {error}");
        request.log(LogLevel::Error, text);
    }
}

/// Changes the request to a GET for `target`. Returns `false` if `target` is not a valid URI.
fn rewrite_to_get(request: &mut Request, target: &[u8]) -> bool {
    let Ok(split) = split_target(target) else { return false };
    let merge = request.site.runtime.server(request.route.server).merge_slashes;
    let mut uri = Vec::with_capacity(split.path.len());
    if normalize_path(split.path, merge, &mut uri).is_err() {
        return false;
    }
    // The request's own target may have been rewritten: its current URI is used.
    if target != request.received.head.target() {
        request.route.uri = uri;
        request.route.args = split.query.unwrap_or_default().to_vec();
    }
    let fields = request.received.head.fields().clone();
    *request.received.head = RequestHead::from_parts(b"GET", target, HttpVersion::Http11, fields.iter());
    true
}

/// Resolves a reference in the response to a request to a target on the requested host ([`resolve`]); `None` for
/// another host, and for a scheme other than http and https.
pub(crate) fn target_here(request: &Request, reference: &[u8]) -> Option<Vec<u8>> {
    let host = request.received.head.known(Known::Host).unwrap_or(&request.route.host);
    resolve(host, request.sent_uri(), reference)
}

/// Resolves a reference in a response to a target on `host`. `asked` is the target of the request, to which relative
/// references refer; `None` if the request has no path.
///
/// Returns `None` for other hosts, and for schemes other than http and https: RFC 9111 section 4.4 excludes them,
/// because a site must not be able to remove the pages of another site.
fn resolve(host: &[u8], asked: Option<&[u8]>, reference: &[u8]) -> Option<Vec<u8>> {
    let reference = reference.split(|byte| *byte == b'#').next().unwrap_or_default().trim_ascii();
    let authority_at = ["http://", "https://", "//"].iter().find_map(|scheme| {
        let begins = reference.get(..scheme.len())?.eq_ignore_ascii_case(scheme.as_bytes());
        begins.then_some(scheme.len())
    });
    if let Some(at) = authority_at {
        let rest = &reference[at..];
        let end = rest.iter().position(|byte| matches!(byte, b'/' | b'?')).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(end);
        let slash: &[u8] = if path.starts_with(b"/") { b"" } else { b"/" };
        return authority.eq_ignore_ascii_case(host).then(|| [slash, path].concat());
    }
    if reference.starts_with(b"/") {
        return Some(reference.to_vec());
    }
    // Either another scheme than HTTP, or a path relative to the requested path (RFC 3986 section 5.2).
    let path_end = reference.iter().position(|byte| matches!(byte, b'/' | b'?')).unwrap_or(reference.len());
    if reference[..path_end].contains(&b':') {
        return None;
    }
    let asked = asked?.split(|byte| *byte == b'?').next().unwrap_or_default();
    let folder = asked.iter().rposition(|byte| *byte == b'/').map_or(0, |at| at + 1);
    Some([&asked[..if reference.starts_with(b"?") { asked.len() } else { folder }], reference].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(reference: &str) -> Option<String> {
        let target = resolve(b"localhost:81", Some(b"/blog/post?p=1"), reference.as_bytes());
        target.map(|target| String::from_utf8(target).expect("text"))
    }

    #[test]
    fn reference_to_this_host_comes_to_its_target() {
        assert_eq!(target("http://localhost:81/a?b#c").as_deref(), Some("/a?b"));
        assert_eq!(target("//LOCALHOST:81?b").as_deref(), Some("/?b"));
        assert_eq!(target("/a").as_deref(), Some("/a"));
    }

    #[test]
    fn relative_reference_begins_at_the_folder_of_the_request() {
        assert_eq!(target("other").as_deref(), Some("/blog/other"));
        assert_eq!(target("?p=2").as_deref(), Some("/blog/post?p=2"));
    }

    #[test]
    fn other_hosts_and_schemes_are_left_alone() {
        for reference in ["http://localhost/a", "https://example.com/", "mailto:a@b"] {
            assert_eq!(target(reference), None, "{reference}");
        }
    }
}
