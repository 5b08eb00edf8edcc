//! Settings of nginx's gzip modules, and of the common brotli and zstd modules.

use myriad_conf::Text;
use myriad_exchange::runtime::GzipProxied;

/// One word of `gzip_disable`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum GzipDisable {
    /// `msie6`: MSIE 4 to 6, except MSIE 6 with SV1.
    Msie6,
    /// Regular expression for `User-Agent`, case-insensitive.
    Regex(Text),
}

/// Settings of `gzip*` on a configuration level.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct GzipSettings {
    /// True for `gzip on`.
    pub on: bool,
    /// `gzip_types`, in lower case, always including `text/html`; `*` alone means every type.
    pub types: Vec<String>,
    /// `gzip_min_length`: minimum length of compressed bodies, in bytes.
    pub min_length: u64,
    /// `gzip_comp_level`, 1 to 9.
    pub comp_level: u8,
    /// `gzip_vary`: true if responses that may be compressed get `Vary: Accept-Encoding`.
    pub vary: bool,
    /// `gzip_proxied`: responses to proxies that are compressed.
    pub proxied: GzipProxied,
    /// True with `gzip_http_version 1.0`: HTTP/1.0 requests may receive compressed responses.
    pub http_1_0: bool,
    /// `gzip_disable`: browsers that receive no compressed responses.
    pub disable: Vec<GzipDisable>,
}

/// Settings of `brotli*` on a configuration level, with the directive names of the common nginx module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct BrotliSettings {
    /// `brotli`: true for `on`; `None` if not configured: then `gzip` and `gzip_min_length` apply.
    pub on: Option<bool>,
    /// `brotli_types`, like [`GzipSettings::types`]; `None` if not configured: then `gzip_types` apply.
    pub types: Option<Vec<String>>,
    /// `brotli_min_length`, in bytes; unused if `brotli` is not configured.
    pub min_length: u64,
    /// `brotli_comp_level`, 0 to 11.
    pub comp_level: u8,
    /// `brotli_window`: accepted for compatibility, without effect; in bytes.
    pub window: u64,
}

/// Settings of `zstd*` on a configuration level, with the directive names of the common nginx module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ZstdSettings {
    /// `zstd`: true for `on`; `None` if not configured: then `gzip` and `gzip_min_length` apply.
    pub on: Option<bool>,
    /// `zstd_types`, like [`GzipSettings::types`]; `None` if not configured: then `gzip_types` apply.
    pub types: Option<Vec<String>>,
    /// `zstd_min_length`, in bytes; unused if `zstd` is not configured.
    pub min_length: u64,
    /// `zstd_comp_level`, 1 to 22.
    pub comp_level: u8,
}

/// Settings of the content codings of a configuration level.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct EncodingSettings {
    /// Settings of `gzip*`.
    pub gzip: GzipSettings,
    /// Settings of `brotli*`.
    pub brotli: BrotliSettings,
    /// Settings of `zstd*`.
    pub zstd: ZstdSettings,
}

myriad_conf::feature_settings!(EncodingSettings);
