//! Storing of a response under the other of a page's two keys: the shared key, and the key for other content codings
//! ([`crate::other_codings`]).

use std::sync::Arc;

use myriad_http::{Fields, Known};
use myriad_policy::{SharedFetchFields, varies_by_coding};
use myriad_store::{Admission, Body, FlightWriter, KeyRef, Selection};

use crate::complete::complete;
use crate::page;
use myriad_exchange::exchange::{Exchange, Request};
use myriad_exchange::runtime::CachePlace;
use myriad_store::page::PageMeta;
use myriad_store::page::key::{CODINGS, of_other_codings};

/// Additional cache entry in which the response to a request may be stored, under another key than the request's. A
/// response may belong to both of a page's keys: the shared key if it does not vary by content coding, and the key for
/// clients that accept other codings if it does.
pub(crate) struct CompanionFetch {
    writer: FlightWriter<PageMeta>,
    /// True if this entry has the key for clients that accept other codings, false if it has the shared key.
    is_for_other_codings: bool,
}

impl CompanionFetch {
    /// Creates the additional entry when the fetch starts, so that a purge during the fetch includes it.
    ///
    /// Returns `None` without a key for other codings, and while the shared page is fresh: a response that was
    /// requested with all header fields of one client must not replace it before it expires.
    pub(crate) fn begin(request: &Request, cache: &CachePlace) -> Option<Self> {
        let codings = request.cache.codings.as_ref()?;
        let now = myriad_net::clock::now_ms();
        if codings.shared_page.as_ref().is_some_and(|page| page.is_fresh(now)) {
            return None;
        }
        let own = &request.cache.key[..];
        let other = if codings.has_separate_key {
            own.strip_suffix(CODINGS)?.to_vec()
        } else {
            of_other_codings(own)
        };
        let writer = cache.zone.zone.fetch_unshared(KeyRef::new(&other), now);
        Some(Self { writer, is_for_other_codings: !codings.has_separate_key })
    }

    /// Returns the page to store if a response with these header fields belongs under the key of this entry, otherwise
    /// `None`.
    ///
    /// A response in a coding that cannot be decoded was selected by this client's `Accept-Encoding`, regardless of
    /// `Vary`; it is never stored under the shared key.
    pub(crate) fn admit(
        self,
        exchange: &Exchange,
        cache: &CachePlace,
        fields: &Fields,
        shared_headers: Option<&SharedFetchFields>,
    ) -> Option<CompanionPage> {
        let is_for = varies_by_coding(fields.known_all(Known::Vary)) == self.is_for_other_codings
            && (self.is_for_other_codings || !page::is_opaque(fields));
        is_for.then(|| CompanionPage {
            selection: page::selection(
                fields,
                &cache.rules,
                exchange.request.received.head.fields(),
                shared_headers,
                self.is_for_other_codings,
            ),
            writer: self.writer,
        })
    }
}

/// Response to store under the second of a page's two keys as well (see [`CompanionFetch`]).
pub(crate) struct CompanionPage {
    writer: FlightWriter<PageMeta>,
    selection: Option<Selection>,
}

impl CompanionPage {
    /// Stores the page under the key of this additional entry. `body` is the complete body.
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
