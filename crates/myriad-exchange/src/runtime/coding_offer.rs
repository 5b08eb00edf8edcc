//! Content codings that a place offers.

use myriad_script::Regex;

use myriad_http::media_types::TypeSet;

/// Content codings that a place offers.
#[derive(Default, PartialEq)]
pub struct CodingOffer {
    /// `gzip`, if on.
    pub gzip: Option<OfferRules>,
    /// `brotli`, if on.
    pub brotli: Option<OfferRules>,
    /// `zstd`, if on.
    pub zstd: Option<OfferRules>,
    /// `gzip_vary`.
    pub vary: bool,
    /// `gzip_http_version 1.0`.
    pub http_1_0: bool,
    /// `gzip_proxied`: compression for requests with `Via`.
    pub proxied: super::GzipProxied,
    /// `gzip_disable`.
    pub disable: Box<[Regex]>,
    /// `gzip_disable msie6`.
    pub disable_msie6: bool,
}

/// Conditions under which a coding is offered.
#[derive(PartialEq)]
pub struct OfferRules {
    /// Media types.
    pub types: TypeSet,
    /// Minimum length, in bytes, of a compressed body.
    pub min_length: u64,
    /// Compression level of responses that are not stored.
    pub level: u8,
}

impl CodingOffer {
    /// Returns whether no coding is offered.
    pub fn is_empty(&self) -> bool {
        self.gzip.is_none() && self.brotli.is_none() && self.zstd.is_none()
    }

    /// Returns whether a body of that media type may be compressed, in any coding.
    pub fn covers(&self, media_type: &[u8]) -> bool {
        [&self.gzip, &self.brotli, &self.zstd].into_iter().flatten().any(|rules| rules.fit(media_type, None))
    }
}

impl OfferRules {
    /// Returns whether a response of that type and length is offered in the coding.
    pub fn fit(&self, media_type: &[u8], length: Option<u64>) -> bool {
        length.is_none_or(|length| length >= self.min_length) && self.types.contains(media_type)
    }
}
