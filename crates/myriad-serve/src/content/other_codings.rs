//! Pages of clients that take only codings which are not made here ([`myriad_policy::other_codings`]).
//!
//! Where everybody's page says `Vary: Accept-Encoding`, the pages of such clients are the variants of another key beside it,
//! so that they are as many as variants may be, and their origin is asked with the codings that the client named. All
//! other requests pay a look at the field.
//!
//! What removes everybody's page (a file that somebody removes, a refresh) must end the others too, though nothing leads from
//! one to the others: so these count only as long as they are younger than everybody's. A purge of the key names both keys.

use std::sync::Arc;

use myriad_http::{Fields, Known};
use myriad_policy::{Told, other_codings, varies_by_coding};
use myriad_store::{Admission, Body, FlightWriter, KeyRef, Selection};

use super::page_key::CODINGS;
use super::{cached, fetch, page};
use crate::exchange::{Exchange, OtherCodings, Request};
use crate::output::lines_named;
use crate::runtime::{CachePlace, OriginPlace, Page, PageMeta};

/// The key of the pages for other codings beside the page of `key`: a purge of one is a purge of both.
pub(crate) fn of_other_codings(key: &[u8]) -> Vec<u8> {
    [key, CODINGS].concat()
}

/// The keys of all that is stored of a request's page, which its origin takes back: that for other codings as well. Everybody's
/// page stays while it is fresh, where the request was for the other one.
pub(super) fn keys_of_page(request: &Request) -> Vec<Vec<u8>> {
    let own = request.cache.key.clone();
    let Some(everybodys) = own.strip_suffix(CODINGS) else { return vec![of_other_codings(&own), own] };
    let now = myriad_net::clock::now_ms();
    let codings = request.cache.codings.as_ref();
    let is_fresh =
        codings.and_then(|codings| codings.everybodys.as_ref()).is_some_and(|page| page.is_fresh(now));
    if is_fresh { vec![own] } else { vec![everybodys.to_vec(), own] }
}

/// Whether the request may not get everybody's page for its codings.
pub(super) fn are_asked(request: &Request) -> bool {
    other_codings(request.head.fields()).is_some()
}

/// Finds out whether the page of this request is one of its own, and makes its key that page's then.
pub(super) fn choose(request: &mut Request, origin: &OriginPlace, cache: &CachePlace) {
    let Some(names) = other_codings(request.head.fields()) else { return };
    if !reach_origin(request, origin, cache) {
        return;
    }
    let mut codings = Box::new(OtherCodings { names, younger_than: 0, everybodys: None, apart: false });
    let fields = request.head.fields();
    // No use of it: what is asked for often, or was not there, is found out by who is answered with it.
    let page = cache.zone.zone.glance(KeyRef::new(&request.cache.key), |selector, variant| {
        cached::write_variant(selector, fields, variant);
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
    let (zone, key, fields) = (&cache.zone.zone, KeyRef::new(&request.cache.key), request.head.fields());
    let is_counted = |page: &Page| page.generation() >= younger_than;
    let most = zone.limits().max_variants;
    zone.peek(key).iter().filter(|page| is_counted(page)).count() < most
        || zone
            .glance(key, |selector, variant| cached::write_variant(selector, fields, variant))
            .is_some_and(|page| is_counted(&page))
}

/// Everybody's page, where the fetch of one of this request's own comes to nothing.
pub(super) fn stand_in(request: &Request) -> Option<Page> {
    request.cache.codings.as_ref()?.everybodys.clone()
}

/// Whether an origin could look at the codings: it is told of them, and its answer is sent as it is.
fn reach_origin(request: &Request, origin: &OriginPlace, cache: &CachePlace) -> bool {
    let is_set = match &origin.http {
        Some(http) => http.replaced.has(Some(Known::AcceptEncoding), b"accept-encoding"),
        None => origin.params.iter().any(|param| *param.name == *b"HTTP_ACCEPT_ENCODING"),
    };
    origin.pass_request_headers
        && !is_set
        && !cache.rules.ignore.vary
        && !request.is_subrequest()
        && request.slice.get().is_none()
        && request.place().filters.is_none()
}

fn varies(page: &Page) -> bool {
    varies_by_coding(lines_named(page.meta().lines(), b"vary"))
}

/// Whether a page under this request's key is older than everybody's.
pub(super) fn is_outlived(request: &Request, page: &Page) -> bool {
    request.cache.codings.as_ref().is_some_and(|codings| page.generation() < codings.younger_than)
}

/// Whether the request's key is that for other codings.
pub(super) fn is_apart(request: &Request) -> bool {
    request.cache.codings.as_ref().is_some_and(|codings| codings.apart)
}

/// What the origin of a page of its own is told instead of the client's `Accept-Encoding`.
pub(super) fn told(request: &Request) -> Option<&[u8]> {
    request.cache.codings.as_ref().filter(|codings| codings.apart).map(|codings| &*codings.names)
}

/// The other of the two keys, should the answer turn out to belong under that too: everybody's, where it does not vary by
/// coding, and that for other codings, where it does.
pub(super) struct Beside {
    writer: FlightWriter<PageMeta>,
    /// Whether it is that for other codings.
    apart: bool,
}

impl Beside {
    /// Begins with the fetch, so that a purge which comes meanwhile covers this as well. Everybody's page stays as long as it
    /// is fresh: what is fetched for one client, with all the fields of its request, must not take its place before its time.
    pub(super) fn begin(request: &Request, cache: &CachePlace) -> Option<Self> {
        let codings = request.cache.codings.as_ref()?;
        let now = myriad_net::clock::now_ms();
        if codings.everybodys.as_ref().is_some_and(|page| page.is_fresh(now)) {
            return None;
        }
        let own = &request.cache.key[..];
        let other = if codings.apart { own.strip_suffix(CODINGS)?.to_vec() } else { of_other_codings(own) };
        let writer = cache.zone.zone.fetch_alone(KeyRef::new(&other), now);
        Some(Self { writer, apart: !codings.apart })
    }

    /// Goes on where an answer with these fields belongs here. What came in a coding that cannot be undone came so because
    /// this client named it, whatever `Vary` says: it is no page for everybody.
    pub(super) fn admit(
        self,
        exchange: &Exchange,
        cache: &CachePlace,
        fields: &Fields,
        told: Option<&Told>,
    ) -> Option<Admitted> {
        let is_for = varies_by_coding(fields.known_all(Known::Vary)) == self.apart
            && (self.apart || !page::is_opaque(fields));
        is_for.then(|| Admitted {
            selection: page::selection(fields, &cache.rules, &exchange.request, told, self.apart),
            writer: self.writer,
        })
    }
}

/// An answer that belongs under the other key too.
pub(super) struct Admitted {
    writer: FlightWriter<PageMeta>,
    selection: Option<Selection>,
}

impl Admitted {
    /// Stores the whole page.
    pub(super) fn store(self, exchange: &Exchange, meta: PageMeta, body: &Body) {
        let admission =
            Admission { head: Arc::new(meta.clone()), selection: self.selection, length: Some(body.len()) };
        let mut writer = self.writer.admit(admission);
        for segment in body.segments() {
            writer.push(segment.clone());
        }
        fetch::complete(exchange, writer, meta);
    }
}
