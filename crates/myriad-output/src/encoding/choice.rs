//! Selection of the content coding of a response, by nginx's `gzip*` directives and the codings that the client
//! accepts.

use myriad_encode::{Coding, CodingSet};
use myriad_http::Known;
use myriad_http::accept::AcceptEncoding;

use super::eligibility::covers;
use myriad_exchange::exchange::Request;
use myriad_exchange::runtime::OfferRules;
use myriad_store::page::ProxiedFacts;

/// Codings in order of preference, by the size of compressed pages: brotli, then zstd, then gzip.
const PREFERENCE: [Coding; 4] = [Coding::Brotli, Coding::Zstd, Coding::Gzip, Coding::Identity];

/// Content codings in which a response may be sent.
#[derive(Clone, Copy, Debug)]
pub struct Encodings {
    /// Codings that location and response permit, including identity. [`takes`](Self::takes) also tests whether the
    /// client accepts a coding.
    pub allowed: CodingSet,
    accept: AcceptEncoding,
    /// Set if clients that accept other codings may receive another coding (`Vary`).
    pub varies: bool,
}

impl Encodings {
    /// Returns the best coding of `available` that is permitted and accepted; `None` if there is none.
    pub fn best(&self, available: CodingSet) -> Option<Coding> {
        self.accept.best(available.intersection(self.allowed).bits(), &PREFERENCE)
    }

    /// Returns whether a coding is permitted, and accepted by the client.
    pub fn takes(&self, coding: Coding) -> bool {
        self.best(CodingSet::EMPTY.with(coding)).is_some()
    }

    /// Returns the best permitted and accepted coding, even if the response is not available in it; identity if there
    /// is none.
    pub fn wanted(&self) -> Coding {
        self.accept.best(self.allowed.bits(), &PREFERENCE).unwrap_or(Coding::Identity)
    }
}

/// Returns whether bodies with this status are compressed, as in nginx. Others, such as redirects and 500, are not.
#[inline]
pub fn is_compressed(status: u16) -> bool {
    matches!(status, 200 | 403 | 404)
}

/// Returns the codings in which a response may be sent: only identity without `Accept-Encoding`, if the location offers
/// no coding for the media type and length, or if `gzip_http_version`, `gzip_disable` or `gzip_proxied` exclude the
/// request. `length` is its length in bytes, `None` if unknown. `forced` is set if the origin has compressed the
/// response: gzip is then permitted if the location offers no coding for it. Status and `no-transform` are not checked.
pub fn encodings(
    request: &Request,
    media_type: &[u8],
    length: Option<u64>,
    proxied: ProxiedFacts,
    forced: bool,
) -> Encodings {
    let offer = &request.place().offer;
    let fits = |rules: &Option<OfferRules>| rules.as_ref().is_some_and(|rules| rules.fit(media_type, length));
    let mut offered = CodingSet::EMPTY;
    for (coding, rules) in
        [(Coding::Gzip, &offer.gzip), (Coding::Brotli, &offer.brotli), (Coding::Zstd, &offer.zstd)]
    {
        if fits(rules) {
            offered.insert(coding);
        }
    }
    if forced && offered.is_empty() {
        offered.insert(Coding::Gzip);
    }
    let varies = !offered.is_empty();
    let value = request.received.head.known(Known::AcceptEncoding);
    let (Some(value), true) = (value, varies) else {
        return Encodings {
            allowed: CodingSet::EMPTY.with(Coding::Identity),
            accept: AcceptEncoding::absent(),
            varies,
        };
    };
    if !covers(offer, request, proxied) {
        offered = CodingSet::EMPTY;
    }
    Encodings { allowed: offered.with(Coding::Identity), accept: AcceptEncoding::parse(value), varies }
}

/// Returns the codings that the client accepts and that `gzip_http_version`, `gzip_disable` and `gzip_proxied` permit,
/// for data that is already compressed. Identity is not included.
pub fn accepted(request: &Request, facts: ProxiedFacts) -> CodingSet {
    let Some(value) = request.received.head.known(Known::AcceptEncoding) else { return CodingSet::EMPTY };
    if !covers(&request.place().offer, request, facts) {
        return CodingSet::EMPTY;
    }
    let accept = AcceptEncoding::parse(value);
    let takes = |coding: &Coding| accept.best(coding.bit(), &PREFERENCE) == Some(*coding);
    [Coding::Gzip, Coding::Brotli, Coding::Zstd].into_iter().filter(takes).collect()
}
