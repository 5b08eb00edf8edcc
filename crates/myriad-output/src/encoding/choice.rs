//! Which encoding an answer may bear: nginx's `gzip*` directives and what the client accepts.

use myriad_encode::{Coding, CodingSet};
use myriad_http::Known;
use myriad_http::accept::AcceptEncoding;

use super::offered::covers;
use myriad_exchange::exchange::Request;
use myriad_exchange::runtime::OfferRules;
use myriad_page::ProxiedFacts;

/// Smaller is better, measured on pages: brotli, then zstd, then gzip.
const PREFERENCE: [Coding; 4] = [Coding::Brotli, Coding::Zstd, Coding::Gzip, Coding::Identity];

/// What may be sent.
#[derive(Clone, Copy, Debug)]
pub struct Encodings {
    /// Codings that place and answer offer, identity among them; whether the client takes one is what [`takes`](Self::takes) says.
    pub allowed: CodingSet,
    accept: AcceptEncoding,
    /// Whether another client could get another encoding.
    pub varies: bool,
}

impl Encodings {
    /// The best of `available`.
    pub fn best(&self, available: CodingSet) -> Option<Coding> {
        self.accept.best(available.intersection(self.allowed).bits(), &PREFERENCE)
    }

    /// Whether this coding is allowed, and the client takes it.
    pub fn takes(&self, coding: Coding) -> bool {
        self.best(CodingSet::EMPTY.with(coding)).is_some()
    }

    /// The best of all that is allowed, whether it is there or not.
    pub fn wanted(&self) -> Coding {
        self.accept.best(self.allowed.bits(), &PREFERENCE).unwrap_or(Coding::Identity)
    }
}

/// Returns true for the statuses whose bodies nginx compresses: others, such as redirects and 500, are sent as they are and have no
/// `Vary` of `gzip_vary`.
#[inline]
pub fn is_compressed(status: u16) -> bool {
    matches!(status, 200 | 403 | 404)
}

/// Judges an answer of `media_type` and `length` bytes. `forced` says that the origin compressed by itself, so that
/// what `gzip` says does not matter.
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

/// Codings that the client takes and that `gzip_http_version`, `gzip_disable` and `gzip_proxied` do not keep from it,
/// for what is packed already.
pub fn accepted(request: &Request, facts: ProxiedFacts) -> CodingSet {
    let Some(value) = request.received.head.known(Known::AcceptEncoding) else { return CodingSet::EMPTY };
    if !covers(&request.place().offer, request, facts) {
        return CodingSet::EMPTY;
    }
    let accept = AcceptEncoding::parse(value);
    let takes = |coding: &Coding| accept.best(coding.bit(), &PREFERENCE) == Some(*coding);
    [Coding::Gzip, Coding::Brotli, Coding::Zstd].into_iter().filter(takes).collect()
}
