//! Search for values of a visitor in the body of a response, while it arrives.

use bytes::Bytes;
use myriad_encode::{ContentDecodeError, StreamDecoder};
use myriad_policy::{Leak, LeakKind, LeakScanner, Lifetime};
use myriad_store::BodyWriter;

use super::findings::{is_coincidence, page_of, report};
use super::verification::Verification;
use crate::page;
use myriad_exchange::exchange::{Exchange, Request};
use myriad_exchange::runtime::CachePlace;
use myriad_store::page::PageMeta;

/// Search for the values of a visitor in the body of a response.
#[derive(Default)]
pub(crate) struct ResponseGuard {
    /// Search in the body; `None` if there are no values to search for, or for a media type that is not searched.
    pub(super) search: Option<LeakScanner>,
    /// Decoder of the search, for a body that is stored in the coding of the origin; `None` for a body that needs no
    /// decoding.
    pub(super) decoder: Option<StreamDecoder>,
    pub(super) found: Option<Leak>,
    /// True if a part of the body could not be decoded, and was not searched.
    pub(super) is_unsearched: bool,
}

impl ResponseGuard {
    /// Searches the next piece of the body. If the piece contains a value, or cannot be decoded, the response is
    /// withdrawn from all clients except the one whose request fetched it.
    pub(crate) async fn examine(
        &mut self,
        exchange: &Exchange,
        cache: &CachePlace,
        writer: &mut BodyWriter<PageMeta>,
        piece: &Bytes,
    ) {
        let Some(search) = &mut self.search else { return };
        let request = &exchange.request;
        let is_coincidence = |kind, value: &[u8]| is_coincidence(request, cache, kind, value);
        let found = search_piece(search, self.decoder.as_mut(), piece.clone(), is_coincidence).await;
        let pass_ms = match found {
            Ok(None) => return,
            Ok(Some(leak)) => {
                let pass_ms = report(request, cache, &leak);
                self.found = Some(leak);
                pass_ms
            }
            // A client may be able to decode it, for example if it is longer than the limit of the search.
            Err(_) => {
                cache.zone.leaks.count_unsearched();
                self.is_unsearched = true;
                0
            }
        };
        self.search = None;
        writer.withdraw(myriad_net::clock::now_ms(), pass_ms);
    }

    /// Returns whether the response must not be stored, after its last piece: it contains data of the visitor, was not
    /// searched completely, or the page was quarantined meanwhile.
    pub(crate) fn forbids_storing(&self, request: &Request, cache: &CachePlace) -> bool {
        let now = myriad_net::clock::now_ms();
        self.found.is_some()
            || self.is_unsearched
            || cache.rules.leak_guard && cache.zone.leaks.is_quarantined(&page_of(request), now)
    }

    /// Returns the fetch that verifies the leak found in the body; `None` if no leak was found, or if it is not
    /// verified ([`Verification::of`]). `status` is the status of the response.
    pub(crate) fn verification(
        self,
        request: &Request,
        cache: &CachePlace,
        lifetime: &Lifetime,
        status: u16,
    ) -> Option<Verification> {
        Verification::of(request, cache, self.found?, (status, lifetime.valid_ms))
    }
}

/// Searches a piece of a body, which is decoded first if the search has a decoder. Returns the first leak found, if
/// any. Fails if the data is invalid, or longer than the decoder accepts.
async fn search_piece(
    search: &mut LeakScanner,
    mut decoder: Option<&mut StreamDecoder>,
    mut piece: Bytes,
    is_coincidence: impl Fn(LeakKind, &[u8]) -> bool,
) -> Result<Option<Leak>, ContentDecodeError> {
    loop {
        let (window, is_drained) = page::decoded(decoder.as_deref_mut(), &mut piece)?;
        let found = search.push(&window, &is_coincidence);
        if found.is_some() || is_drained {
            return Ok(found);
        }
        // Decoding uses CPU time, so other tasks may run between two windows.
        tokio::task::yield_now().await;
    }
}
