//! The companion of a page's key: a page for other codings has everybody's ([`crate::other_codings`]), and the other way round.

use std::sync::Arc;

use myriad_http::{Fields, Known};
use myriad_policy::{Told, varies_by_coding};
use myriad_store::{Admission, Body, FlightWriter, KeyRef, Selection};

use crate::complete::complete;
use crate::page;
use myriad_exchange::exchange::{Exchange, Request};
use myriad_exchange::runtime::CachePlace;
use myriad_page::PageMeta;
use myriad_page::key::{CODINGS, of_other_codings};

/// The other of the two keys, should the answer turn out to belong under that too: everybody's, where it does not vary by
/// coding, and that for other codings, where it does.
pub(crate) struct Companion {
    writer: FlightWriter<PageMeta>,
    /// Whether it is that for other codings.
    apart: bool,
}

impl Companion {
    /// Begins with the fetch, so that a purge which comes meanwhile covers this as well. Everybody's page stays as long as it
    /// is fresh: what is fetched for one client, with all the fields of its request, must not take its place before its time.
    pub(crate) fn begin(request: &Request, cache: &CachePlace) -> Option<Self> {
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
    pub(crate) fn admit(
        self,
        exchange: &Exchange,
        cache: &CachePlace,
        fields: &Fields,
        told: Option<&Told>,
    ) -> Option<CompanionPage> {
        let is_for = varies_by_coding(fields.known_all(Known::Vary)) == self.apart
            && (self.apart || !page::is_opaque(fields));
        is_for.then(|| CompanionPage {
            selection: page::selection(fields, &cache.rules, &exchange.request, told, self.apart),
            writer: self.writer,
        })
    }
}

/// An answer that belongs under the other key too.
pub(crate) struct CompanionPage {
    writer: FlightWriter<PageMeta>,
    selection: Option<Selection>,
}

impl CompanionPage {
    /// Stores the whole page.
    pub(crate) fn store(self, exchange: &Exchange, cache: &CachePlace, meta: PageMeta, body: &Body) {
        let admission =
            Admission { head: Arc::new(meta.clone()), selection: self.selection, length: Some(body.len()) };
        let mut writer = self.writer.admit(admission);
        for segment in body.segments() {
            writer.push(segment.clone());
        }
        complete(exchange, &cache.zone, writer, meta);
    }
}
