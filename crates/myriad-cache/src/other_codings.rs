//! Pages of clients that take only codings which are not made here ([`myriad_policy::other_codings`]).
//!
//! Where everybody's page says `Vary: Accept-Encoding`, the pages of such clients are the variants of another key beside it,
//! so that they are as many as variants may be, and their origin is asked with the codings that the client named. All
//! other requests pay a look at the field.
//!
//! What removes everybody's page (a file that somebody removes, a refresh) must end the others too, though nothing leads from
//! one to the others: so these count only as long as they are younger than everybody's. A purge of the key names both keys.

use myriad_http::Known;
use myriad_http::lines::lines_named;
use myriad_policy::{other_codings, varies_by_coding};
use myriad_store::KeyRef;

use myriad_exchange::exchange::{OtherCodings, Request};
use myriad_exchange::runtime::{CachePlace, OriginPlace};
use myriad_page::Page;
use myriad_page::key::{CODINGS, of_other_codings};
use myriad_page::write_variant;

/// The keys of all that is stored of a request's page, which its origin takes back: that for other codings as well. Everybody's
/// page stays while it is fresh, where the request was for the other one.
pub(crate) fn keys_of_page(request: &Request) -> Vec<Vec<u8>> {
    let own = request.cache.key.clone();
    let Some(everybodys) = own.strip_suffix(CODINGS) else { return vec![of_other_codings(&own), own] };
    let now = myriad_net::clock::now_ms();
    let codings = request.cache.codings.as_ref();
    let is_fresh =
        codings.and_then(|codings| codings.everybodys.as_ref()).is_some_and(|page| page.is_fresh(now));
    if is_fresh { vec![own] } else { vec![everybodys.to_vec(), own] }
}

/// Whether the request may not get everybody's page for its codings.
pub(crate) fn are_asked(request: &Request) -> bool {
    other_codings(request.received.head.fields()).is_some()
}

/// Finds out whether the page of this request is one of its own, and makes its key that page's then.
pub(crate) fn choose(request: &mut Request, origin: &OriginPlace, cache: &CachePlace) {
    let Some(names) = other_codings(request.received.head.fields()) else { return };
    if !reach_origin(request, origin, cache) {
        return;
    }
    let mut codings = Box::new(OtherCodings { names, younger_than: 0, everybodys: None, apart: false });
    let fields = request.received.head.fields();
    // No use of it: what is asked for often, or was not there, is found out by who is answered with it.
    let page = cache.zone.zone.glance(KeyRef::new(&request.cache.key), |selector, variant| {
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
        codings.apart = true;
        codings.everybodys = Some(page);
    }
    request.cache.codings = Some(codings);
}

/// Whether there is a page for the codings of this request, or may be one more: whoever thinks of ever new codings gets everybody's
/// page, which names no coding that they do not take, and makes the origin work no more often than there may be variants.
fn has_room(request: &Request, cache: &CachePlace, younger_than: u64) -> bool {
    let (zone, key, fields) =
        (&cache.zone.zone, KeyRef::new(&request.cache.key), request.received.head.fields());
    let is_counted = |page: &Page| page.generation() >= younger_than;
    let most = zone.limits().max_variants;
    zone.peek(key).iter().filter(|page| is_counted(page)).count() < most
        || zone
            .glance(key, |selector, variant| write_variant(selector, fields, variant))
            .is_some_and(|page| is_counted(&page))
}

/// Everybody's page, where the fetch of one of this request's own comes to nothing.
pub(crate) fn stand_in(request: &Request) -> Option<Page> {
    request.cache.codings.as_ref()?.everybodys.clone()
}

/// Whether an origin could look at the codings: it is told of them, and its answer is sent as it is.
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

/// Whether a page under this request's key is older than everybody's.
pub(crate) fn is_outlived(request: &Request, page: &Page) -> bool {
    request.cache.codings.as_ref().is_some_and(|codings| page.generation() < codings.younger_than)
}

/// Whether the request's key is that for other codings.
pub(crate) fn is_apart(request: &Request) -> bool {
    request.cache.codings.as_ref().is_some_and(|codings| codings.apart)
}
