//! Content codings with which a location compresses responses.

use myriad_script::Regex;

use myriad_http::media_types::TypeSet;

/// Content codings with which a location compresses responses.
#[derive(Default, PartialEq)]
pub struct CodingOffer {
    /// `gzip`: conditions for compression with gzip; `None` if it is off.
    pub gzip: Option<OfferRules>,
    /// `brotli`, by default as `gzip`: conditions for compression with brotli; `None` if it is off.
    pub brotli: Option<OfferRules>,
    /// `zstd`, by default as `gzip`: conditions for compression with zstd; `None` if it is off.
    pub zstd: Option<OfferRules>,
    /// `gzip_vary`: true if compressible responses get `Vary: Accept-Encoding`.
    pub vary: bool,
    /// True with `gzip_http_version 1.0`: responses to HTTP/1.0 requests are compressed, too.
    pub http_1_0: bool,
    /// `gzip_proxied`: responses that may be compressed for requests with `Via`.
    pub proxied: super::GzipProxied,
    /// `gzip_disable`: patterns of `User-Agent` for which nothing is compressed.
    pub disable: Box<[Regex]>,
    /// True with `gzip_disable msie6`: nothing is compressed for Internet Explorer 4 to 6, except for version 6 with
    /// `SV1` in its `User-Agent`.
    pub disable_msie6: bool,
}

/// Conditions under which a response is compressed with a content coding, and the compression level.
#[derive(PartialEq)]
pub struct OfferRules {
    /// Media types of the responses that may be compressed.
    pub types: TypeSet,
    /// Minimum length of a body that is compressed, in bytes.
    pub min_length: u64,
    /// Compression level of responses that are compressed while they are sent.
    pub level: u8,
}

impl CodingOffer {
    /// Returns true if no coding is enabled.
    pub fn is_empty(&self) -> bool {
        self.gzip.is_none() && self.brotli.is_none() && self.zstd.is_none()
    }

    /// Returns true if a body of this media type may be compressed in at least one coding, whatever its length.
    pub fn covers(&self, media_type: &[u8]) -> bool {
        [&self.gzip, &self.brotli, &self.zstd].into_iter().flatten().any(|rules| rules.fit(media_type, None))
    }
}

impl OfferRules {
    /// Returns true if a body of this media type and length may be compressed. An unknown length (`None`) counts as
    /// long enough.
    pub fn fit(&self, media_type: &[u8], length: Option<u64>) -> bool {
        length.is_none_or(|length| length >= self.min_length) && self.types.contains(media_type)
    }
}
