//! Storing of pages that this server makes itself, such as bundles of the page optimizer.

use std::sync::Arc;

use bytes::Bytes;
use myriad_exchange::exchange::Exchange;
use myriad_http::ResponseHead;
use myriad_policy::{Lifetime, Tags, ValiditySource};
use myriad_store::page::{Page, PageMarks};
use myriad_store::{Admission, KeyRef};

use crate::complete::complete;
use crate::journey_step::OwnedCacheContext;
use crate::page;

/// Returns the lifetime of a page that is fresh for `valid_ms` milliseconds from `now`, and is not served stale.
pub(crate) fn lifetime(valid_ms: u64, now: u64) -> Lifetime {
    let fresh_until = now.saturating_add(valid_ms);
    Lifetime {
        fresh_until,
        stale_updating_until: fresh_until,
        stale_error_until: fresh_until,
        must_revalidate: false,
        valid_ms,
        source: ValiditySource::CacheValid,
        born: None,
    }
}

/// Page that this server generates without a response of an origin, such as a bundle of the page optimizer.
pub(crate) struct MadePage<'a> {
    /// Cache key under which the page is stored.
    pub key: &'a [u8],
    /// Path on the request's host, by which purges find the page.
    pub path: &'a [u8],
    /// Head of the response, as if an origin had sent it.
    pub head: ResponseHead,
    /// Body without content coding.
    pub body: Bytes,
    /// Time for which the page is fresh, in milliseconds. It is not served stale.
    pub valid_ms: u64,
}

impl MadePage<'_> {
    /// Stores the page; `now` is the current time in milliseconds since the epoch. Returns the stored page; `None` if
    /// it was not stored or is only on disk.
    pub(crate) fn store(self, exchange: &Exchange, held: &OwnedCacheContext, now: u64) -> Option<Page> {
        let request = &exchange.request;
        let lifetime = lifetime(self.valid_ms, now);
        let marks = PageMarks::new(request.scheme(), &request.route.host, self.path, &Tags::parse(b""));
        let rules = &held.cache.rules;
        let meta = page::meta_of(&self.head, &held.origin, rules, lifetime, now, &marks, None);
        let writer = held.cache.zone.zone.fetch_unshared(KeyRef::new(self.key), now);
        let length = Some(self.body.len() as u64);
        let mut writer = writer.admit(Admission { head: Arc::new(meta.clone()), selection: None, length });
        writer.push(self.body);
        complete(exchange, &held.cache.zone, writer, meta)
    }
}
