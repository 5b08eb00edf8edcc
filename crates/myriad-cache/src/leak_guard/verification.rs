//! Verification of a leak: the page is fetched without the values of the visitor.

use bytes::Bytes;
use myriad_encode::StreamDecoder;
use myriad_http::{Fields, Known, ResponseHead};
use myriad_policy::{Leak, LeakKind, LeakScanner, PrivateValue, SentCookies, SharedFetchFields, VaryRule};
use myriad_upstream::OriginRequest;

use super::SESSIONS;
use super::findings::{confirm, leaked_value, what_of};
use crate::{page, shared_fetch_headers};
use myriad_exchange::exchange::Request;
use myriad_exchange::runtime::CachePlace;

/// Fetch of a page without the values of the visitor, to find out whether a leak is a coincidence.
pub(crate) struct Verification {
    kind: LeakKind,
    /// Leaked value to search for; empty if the leak is a sign in HTML, such as that of a logged-in visitor.
    value: Box<[u8]>,
    /// Name of the cookie; empty for other kinds.
    name: Box<[u8]>,
    /// Kind, name and place of the leaked value, for reports.
    what: String,
    /// Status of the response that contained the leak; only a response with this status is searched.
    status: u16,
    /// Validity of the page in milliseconds.
    valid_ms: u64,
}

impl Verification {
    /// Returns the verification of a leak in a page with this status and validity (in milliseconds). `None` if no fetch
    /// could verify it, if the request must not be repeated, or if there were too many verifications recently. A new
    /// cookie or form token needs no fetch: this leak is recorded as confirmed.
    pub(crate) fn of(
        request: &Request,
        cache: &CachePlace,
        leak: Leak,
        (status, valid_ms): (u16, u64),
    ) -> Option<Self> {
        let what = what_of(&leak);
        let Leak { kind, name, value, .. } = leak;
        let found = leaked_value(request, kind, &value, &what);
        match kind {
            LeakKind::Cookie | LeakKind::UserAgent | LeakKind::LoggedIn => {}
            // Each response has a new value, so a further fetch could not verify it.
            LeakKind::NewCookie | LeakKind::FormToken => {
                confirm(request, cache, &found, valid_ms);
                return None;
            }
            // The request without the value would be for another page, or the configuration adds the value.
            LeakKind::Argument | LeakKind::Credentials | LeakKind::Certificate | LeakKind::Address => {
                return None;
            }
        }
        // A request that may change data is not repeated.
        if !shared_fetch_headers::is_repeatable(request)
            || !cache.zone.leaks.begin_verification(&found, myriad_net::clock::now_ms())
        {
            return None;
        }
        Some(Self { kind, value, name, what, status, valid_ms })
    }

    /// Returns whether the request that verifies the leak contains the value, because the configuration adds it.
    pub(crate) fn is_vain(&self, sent: &OriginRequest) -> bool {
        self.values().iter().any(|value| value.occurs_in(sent.head()))
    }

    /// Returns the search in the response; `None` if the response cannot be compared, because it has another status or
    /// a content coding that cannot be decoded.
    pub(crate) fn search(&self, head: &ResponseHead) -> Option<VerificationSearch<'_>> {
        if head.status != self.status || page::is_opaque(&head.fields) {
            return None;
        }
        let cookies = SentCookies { session: false, any: self.kind == LeakKind::LoggedIn };
        let scanner = LeakScanner::new(self.values(), &head.fields, &SESSIONS, cookies);
        let decoder = page::origin_coding(head).and_then(page::decoder);
        let is_found = scanner.as_ref().is_some_and(|scanner| {
            scanner.find_in_fields(&head.fields, |kind, value| self.is_other(kind, value)).is_some()
        });
        Some(VerificationSearch { verification: self, scanner, decoder, is_found })
    }

    /// Records the result: a response without the value (`Some(false)`) confirms the leak, and a response with the
    /// value (`Some(true)`) shows that it is a coincidence. `None` if the response shows nothing.
    pub(crate) fn record(&self, request: &Request, cache: &CachePlace, is_found: Option<bool>) {
        let found = leaked_value(request, self.kind, &self.value, &self.what);
        match is_found {
            Some(true) => cache.zone.leaks.excuse(&found, myriad_net::clock::now_ms()),
            Some(false) => {
                confirm(request, cache, &found, self.valid_ms);
            }
            None => cache.zone.leaks.set_unverified(&found),
        }
    }

    /// Returns true if a value is of another kind than the value to verify, or has other bytes.
    fn is_other(&self, kind: LeakKind, value: &[u8]) -> bool {
        kind != self.kind || *value != *self.value
    }

    /// Returns a list with the value to search for; empty if the leak is a sign in HTML, such as that of a logged-in
    /// visitor.
    fn values(&self) -> Vec<PrivateValue> {
        let value = PrivateValue { kind: self.kind, name: self.name.clone(), value: self.value.clone() };
        if self.value.is_empty() { Vec::new() } else { vec![value] }
    }
}

/// Search for the value of a [`Verification`] in a response.
pub(crate) struct VerificationSearch<'a> {
    verification: &'a Verification,
    /// Search for the value in the body; `None` if the body needs no search, for example because of its media type.
    scanner: Option<LeakScanner>,
    /// Decoder for the coding of the origin; `None` for a body without coding.
    decoder: Option<StreamDecoder>,
    is_found: bool,
}

impl VerificationSearch<'_> {
    /// Returns whether the value was found so far.
    pub(crate) fn is_found(&self) -> bool {
        self.is_found
    }

    /// Searches the next piece of the body. Returns false if it cannot be decoded.
    pub(crate) async fn push(&mut self, mut piece: Bytes) -> bool {
        loop {
            let Ok((window, is_drained)) = page::decoded(self.decoder.as_mut(), &mut piece) else {
                return false;
            };
            if let Some(scanner) = &mut self.scanner {
                let is_other = |kind, value: &[u8]| self.verification.is_other(kind, value);
                self.is_found |= scanner.push(&window, is_other).is_some();
            }
            if self.is_found || is_drained {
                return true;
            }
            // Decoding uses CPU time, so other tasks may run between two windows.
            tokio::task::yield_now().await;
        }
    }

    /// Returns whether the body was decoded completely; called after its last piece. True for a body without a decoder.
    pub(crate) fn finish(self) -> bool {
        self.decoder.is_none_or(|decoder| decoder.finish().is_ok())
    }
}

/// Returns the header fields of a request that verifies a leak: the fields of a shared fetch (of the client's request,
/// if `shared_fetch_headers` is off), without credentials, `User-Agent`, and cookies that are not in the cache key.
pub(crate) fn anonymous_fields(request: &Request, cache: &CachePlace) -> SharedFetchFields {
    let fields = request.received.head.fields();
    let rules = &cache.rules.shared_fetch;
    let shared = rules.fields_for_origin(fields, false, &VaryRule::default(), cache.rules.device_class);
    let shared = shared.filter(|_| rules.on);
    let fields = shared.as_ref().map_or(fields, |shared| &shared.fields);
    let is_of_visitor =
        |known| matches!(known, Some(Known::Cookie | Known::Authorization | Known::UserAgent));
    let sent = fields.iter_known().filter(|(known, ..)| !is_of_visitor(*known));
    let mut sent: Fields = sent.map(|(_, name, value)| (name, value)).collect();
    let keyed = rules.keyed_pairs(fields);
    if !keyed.is_empty() {
        sent.push_known(Known::Cookie, &keyed.join(&b"; "[..]));
    }
    SharedFetchFields { fields: sent, varies: VaryRule::default() }
}
