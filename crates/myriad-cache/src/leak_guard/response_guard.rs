//! Search for values of a visitor in the body of a response, while it arrives.

use std::cell::Cell;
use std::rc::Rc;

use bytes::Bytes;
use myriad_encode::{ContentDecodeError, StreamDecoder};
use myriad_policy::{Leak, LeakScanner, Lifetime, StoreRefusal};
use myriad_store::BodyWriter;

use super::excuses::Excuses;
use super::findings::report;
use super::verification::Verification;
use crate::page;
use myriad_exchange::exchange::{Exchange, Request};
use myriad_exchange::runtime::CachePlace;
use myriad_store::page::PageMeta;

/// Notice to the request that started a fetch that the response contains data of its visitor.
#[derive(Clone, Default)]
pub(crate) struct LeakNotice(Rc<Cell<bool>>);

impl LeakNotice {
    /// Returns the reason for which the response is not stored, if a leak was found so far.
    pub(crate) fn reason(&self) -> Option<&'static str> {
        self.0.get().then_some(StoreRefusal::Leak.as_str())
    }
}

/// Search for the values of a visitor in the body of a response.
pub(crate) struct ResponseGuard {
    /// Search; `None` without values, or for a media type that is not searched.
    pub(super) search: Option<LeakScanner>,
    /// Decoder of the search, for a body that is stored in the coding of the origin.
    pub(super) decoder: Option<StreamDecoder>,
    /// Set if the response is only requested to verify a finding, and not stored.
    pub(super) verification: Option<Verification>,
    pub(super) found: Option<Leak>,
    pub(super) notice: LeakNotice,
}

impl ResponseGuard {
    /// Returns a guard that searches nothing.
    pub(crate) fn off() -> Self {
        Self { search: None, decoder: None, verification: None, found: None, notice: LeakNotice::default() }
    }

    /// Returns the notice for the request that started the fetch.
    pub(crate) fn notice(&self) -> LeakNotice {
        self.notice.clone()
    }

    /// Searches the next piece of the body. If it contains a value, the response is withdrawn from all other clients.
    pub(crate) async fn examine(
        &mut self,
        exchange: &Exchange,
        cache: &CachePlace,
        writer: &mut BodyWriter<PageMeta>,
        piece: &Bytes,
    ) {
        let Some(search) = &mut self.search else { return };
        let excuses = Excuses { request: &exchange.request, cache, verification: self.verification.as_ref() };
        let Ok(found) = search_piece(search, self.decoder.as_mut(), piece.clone(), &excuses).await else {
            self.search = None;
            return;
        };
        let Some(leak) = found else { return };
        if let Some(verification) = &mut self.verification {
            verification.is_coincidence = true;
            return;
        }
        self.search = None;
        report(&exchange.request, cache, &leak);
        writer.withdraw(myriad_net::clock::now_ms(), StoreRefusal::Leak.hit_for_miss_ms());
        self.notice.0.set(true);
        self.found = Some(leak);
    }

    /// Returns whether the response must not be stored, after its last piece: it contains data of the visitor, it was
    /// requested to verify a finding, or the page was quarantined meanwhile.
    pub(crate) fn is_private(&self, request: &Request, cache: &CachePlace) -> bool {
        let now = myriad_net::clock::now_ms();
        self.found.is_some()
            || self.verification.is_some()
            || cache.rules.leak_guard && cache.zone.leaks.is_quarantined(&request.cache.key, now)
    }

    /// Records the result of a verification, and returns the verification that a new leak needs. `status` is that of the
    /// response.
    pub(crate) fn finish(
        self,
        request: &Request,
        cache: &CachePlace,
        lifetime: &Lifetime,
        status: u16,
    ) -> Option<Verification> {
        if let Some(verification) = self.verification {
            verification.finish(request, cache, lifetime);
        }
        Verification::of(request, cache, self.found?, lifetime, status)
    }
}

/// Searches a piece of a body, which is decoded first if the search has a decoder. Fails at invalid data, which no client can
/// decode either.
async fn search_piece(
    search: &mut LeakScanner,
    mut decoder: Option<&mut StreamDecoder>,
    mut piece: Bytes,
    excuses: &Excuses<'_>,
) -> Result<Option<Leak>, ContentDecodeError> {
    loop {
        let (window, is_drained) = page::decoded(decoder.as_deref_mut(), &mut piece)?;
        let found = search.push(&window, |kind, value| excuses.has(kind, value));
        if found.is_some() || is_drained {
            return Ok(found);
        }
        // Decoding uses CPU time, so other tasks may run between two windows.
        tokio::task::yield_now().await;
    }
}
