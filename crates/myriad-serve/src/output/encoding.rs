//! Which encoding an answer may bear: nginx's `gzip*` directives and what the client accepts.

use myriad_encode::{Coding, CodingSet};
use myriad_http::accept::AcceptEncoding;
use myriad_http::{Known, Version};

use crate::exchange::Request;
use crate::runtime::{Offer, OfferRules, ProxiedFacts};

/// Smaller is better, measured on pages: brotli, then zstd, then gzip.
const PREFERENCE: [Coding; 4] = [Coding::Brotli, Coding::Zstd, Coding::Gzip, Coding::Identity];

/// What may be sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Encodings {
    /// Codings that place, answer and client agree on; identity where the client takes it.
    pub allowed: CodingSet,
    accept: AcceptEncoding,
    /// Whether another client could get another encoding.
    pub varies: bool,
}

impl Encodings {
    /// The best of `available`.
    pub(crate) fn best(&self, available: CodingSet) -> Option<Coding> {
        self.accept.best(available.intersection(self.allowed).bits(), &PREFERENCE)
    }

    /// The best of all that is allowed, whether it is there or not.
    pub(crate) fn wanted(&self) -> Coding {
        self.accept.best(self.allowed.bits(), &PREFERENCE).unwrap_or(Coding::Identity)
    }
}

/// Judges an answer of `media_type` and `length` bytes. `forced` says that the origin compressed by itself, so that
/// what `gzip` says does not matter.
pub(crate) fn encodings(
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
    let value = request.head.known(Known::AcceptEncoding);
    let (Some(value), true) = (value, varies) else {
        return Encodings {
            allowed: CodingSet::EMPTY.with(Coding::Identity),
            accept: AcceptEncoding::absent(),
            varies,
        };
    };
    if !offer.covers(request, proxied) {
        offered = CodingSet::EMPTY;
    }
    Encodings { allowed: offered.with(Coding::Identity), accept: AcceptEncoding::parse(value), varies }
}

/// Codings that the client takes and that `gzip_http_version`, `gzip_disable` and `gzip_proxied` do not keep from it,
/// for what is packed already.
pub(crate) fn accepted(request: &Request, facts: ProxiedFacts) -> CodingSet {
    let Some(value) = request.head.known(Known::AcceptEncoding) else { return CodingSet::EMPTY };
    if !request.place().offer.covers(request, facts) {
        return CodingSet::EMPTY;
    }
    let accept = AcceptEncoding::parse(value);
    let takes = |coding: &Coding| accept.best(coding.bit(), &PREFERENCE) == Some(*coding);
    [Coding::Gzip, Coding::Brotli, Coding::Zstd].into_iter().filter(takes).collect()
}

impl OfferRules {
    /// Whether an answer of that type and length is offered in the coding.
    pub(crate) fn fit(&self, media_type: &[u8], length: Option<u64>) -> bool {
        length.is_none_or(|length| length >= self.min_length)
            && match &self.types {
                None => true,
                Some(types) => types.iter().any(|known| media_type.eq_ignore_ascii_case(known)),
            }
    }
}

impl Offer {
    /// `gzip_http_version`, `gzip_disable` and `gzip_proxied`.
    fn covers(&self, request: &Request, facts: ProxiedFacts) -> bool {
        if request.head.version() == Version::Http10 && !self.http_1_0 {
            return false;
        }
        if let Some(agent) = request.head.known(Known::UserAgent)
            && (self.disable_msie6 && is_msie6(agent)
                || self.disable.iter().any(|regex| regex.is_match(agent).unwrap_or(false)))
        {
            return false;
        }
        !request.head.fields().has(Known::Via) || self.proxied_allows(request, facts)
    }

    /// As nginx: `Expires` decides where there is one, else `Cache-Control`, else what the answer has not.
    fn proxied_allows(&self, request: &Request, facts: ProxiedFacts) -> bool {
        let rules = self.proxied;
        if rules.any || rules.auth && request.head.fields().has(Known::Authorization) {
            return true;
        }
        if rules.is_off() {
            return false;
        }
        if let Some(expired) = facts.expired {
            return rules.expired && expired;
        }
        if facts.has_cache_control {
            return rules.no_cache && facts.no_cache
                || rules.no_store && facts.no_store
                || rules.private && facts.private;
        }
        !(rules.no_last_modified && facts.has_last_modified || rules.no_etag && facts.has_etag)
    }
}

/// nginx's `msie6`: MSIE 4 to 6, but not 6 with the service pack that mends it.
pub(crate) fn is_msie6(agent: &[u8]) -> bool {
    let Some(at) = agent.windows(5).position(|window| window == b"MSIE ") else { return false };
    let version = agent.get(at + 5).copied().unwrap_or(0);
    let dotted = agent.get(at + 6) == Some(&b'.');
    dotted && (matches!(version, b'4' | b'5') || version == b'6' && !agent.windows(3).any(|w| w == b"SV1"))
}

#[cfg(test)]
mod tests {
    use super::is_msie6;

    #[test]
    fn msie6_means_four_to_six_without_the_service_pack() {
        assert!(is_msie6(b"Mozilla/4.0 (compatible; MSIE 6.0; Windows NT 5.1)"));
        assert!(!is_msie6(b"Mozilla/4.0 (compatible; MSIE 6.0; Windows NT 5.1; SV1)"));
        assert!(!is_msie6(b"Mozilla/4.0 (compatible; MSIE 7.0; Windows NT 6.0)"));
        assert!(!is_msie6(b"Mozilla/5.0 MSIE "));
    }
}
