//! Pages for clients that only accept content codings which Myriad does not produce ([`myriad_policy::other_codings`]).
//!
//! If the shared page has `Vary: Accept-Encoding`, the pages of such clients are variants under a separate key. The
//! limit of variants applies to them, and the origin gets the codings that the client named. The cost for all other
//! requests is one check of `Accept-Encoding`.
//!
//! The removal of the shared page (a deleted file, a refresh) must also invalidate the pages under the separate key, to
//! which it has no reference. They are therefore only valid while they are newer than the shared page. A purge of a
//! page covers both keys.

use myriad_http::Known;
use myriad_http::lines::lines_named;
use myriad_policy::{other_codings, varies_by_coding};
use myriad_store::KeyRef;

use myriad_exchange::exchange::{OtherCodings, Request};
use myriad_exchange::runtime::{CachePlace, OriginPlace};
use myriad_store::page::Page;
use myriad_store::page::key::{CODINGS, of_other_codings};
use myriad_store::page::write_variant;

/// Returns the keys under which the page of a request is removed if its origin reports that it is no longer valid: the
/// shared key and the key for other codings.
///
/// If the request used the key for other codings, the shared key is not included while the shared page is fresh.
pub(crate) fn keys_of_page(request: &Request) -> Vec<Vec<u8>> {
    let own = request.cache.key.clone();
    let Some(everybodys) = own.strip_suffix(CODINGS) else { return vec![of_other_codings(&own), own] };
    let now = myriad_net::clock::now_ms();
    let codings = request.cache.codings.as_ref();
    let is_fresh =
        codings.and_then(|codings| codings.shared_page.as_ref()).is_some_and(|page| page.is_fresh(now));
    if is_fresh { vec![own] } else { vec![everybodys.to_vec(), own] }
}

/// Returns whether the request accepts only content codings that Myriad does not produce, so that the shared page may
/// be unusable for it. False for requests that get the shared page nevertheless: with an invalid list, more than four
/// such codings, or names of more than 48 bytes in total.
pub(crate) fn may_need_other_codings(request: &Request) -> bool {
    other_codings(request.received.head.fields()).is_some()
}

/// Stores in the request's cache state the content codings of a request that accepts only codings which Myriad does not
/// produce, if the origin can select one of them. If the shared page varies by coding, also extends the cache key by
/// the suffix for other codings. Does nothing if this would exceed the limit of variants.
pub(crate) fn choose(request: &mut Request, origin: &OriginPlace, cache: &CachePlace) {
    let Some(names) = other_codings(request.received.head.fields()) else { return };
    if !reach_origin(request, origin, cache) {
        return;
    }
    let mut codings =
        Box::new(OtherCodings { names, younger_than: 0, shared_page: None, has_separate_key: false });
    let fields = request.received.head.fields();
    // Not counted as a use of the page: only the look-up of the page that is served counts.
    let page = cache.zone.zone.peek_variant(KeyRef::new(&request.cache.key), |selector, variant| {
        write_variant(selector, fields, variant);
    });
    if let Some(page) = page.filter(varies) {
        let everybodys = request.cache.key.len();
        request.cache.key.extend_from_slice(CODINGS);
        codings.younger_than = page.generation();
        if !has_room(request, cache, page.generation()) {
            request.cache.key.truncate(everybodys);
            return;
        }
        codings.has_separate_key = true;
        codings.shared_page = Some(page);
    }
    request.cache.codings = Some(codings);
}

/// Returns whether a page for the codings of this request exists, or may be added within the limit of variants.
///
/// Beyond the limit, a client that sends different codings in each request gets the shared page without content coding,
/// so it cannot cause more fetches than the limit.
fn has_room(request: &Request, cache: &CachePlace, younger_than: u64) -> bool {
    let (zone, key, fields) =
        (&cache.zone.zone, KeyRef::new(&request.cache.key), request.received.head.fields());
    let is_counted = |page: &Page| page.generation() >= younger_than;
    let most = zone.limits().max_variants;
    zone.peek(key).iter().filter(|page| is_counted(page)).count() < most
        || zone
            .peek_variant(key, |selector, variant| write_variant(selector, fields, variant))
            .is_some_and(|page| is_counted(&page))
}

/// Returns the shared page, which may be served if the fetch for this request's codings fails.
pub(crate) fn shared_fallback(request: &Request) -> Option<Page> {
    request.cache.codings.as_ref()?.shared_page.clone()
}

/// Returns whether the origin can select a coding for the client: it gets the client's `Accept-Encoding`, and its
/// response is sent to the client unchanged. False for subrequests, for slices, and where `Vary` is ignored.
fn reach_origin(request: &Request, origin: &OriginPlace, cache: &CachePlace) -> bool {
    origin.request.pass_fields
        && !origin.protocol.replaces(Known::AcceptEncoding)
        && !cache.rules.ignore.vary
        && !request.is_subrequest()
        && request.cache.slice.get().is_none()
        && !request.place().filters.change_bodies()
}

fn varies(page: &Page) -> bool {
    varies_by_coding(lines_named(page.meta().lines(), b"vary"))
}

/// Returns whether a page under this request's key is older than the shared page, and therefore invalid.
pub(crate) fn is_older_than_shared(request: &Request, page: &Page) -> bool {
    request.cache.codings.as_ref().is_some_and(|codings| page.generation() < codings.younger_than)
}

/// Returns whether the request's key is the key for other codings.
pub(crate) fn uses_separate_key(request: &Request) -> bool {
    request.cache.codings.as_ref().is_some_and(|codings| codings.has_separate_key)
}
