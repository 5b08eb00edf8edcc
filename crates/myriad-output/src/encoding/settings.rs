//! Settings of the directives of nginx's gzip modules and of the common brotli and zstd modules.

use myriad_conf::Text;
use myriad_exchange::runtime::GzipProxied;

/// Single word of `gzip_disable`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum GzipDisable {
    /// `msie6`: MSIE 4 to 6, except MSIE 6 with SV1.
    Msie6,
    /// Regular expression (case-insensitive) for `User-Agent`.
    Regex(Text),
}

/// `gzip*`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct GzipSettings {
    /// `gzip`.
    pub on: bool,
    /// `gzip_types`, lower case, always including `text/html`; `*` alone means every type.
    pub types: Vec<String>,
    /// `gzip_min_length`, in bytes.
    pub min_length: u64,
    /// `gzip_comp_level`, 1 to 9.
    pub comp_level: u8,
    /// `gzip_vary`.
    pub vary: bool,
    /// `gzip_proxied`.
    pub proxied: GzipProxied,
    /// Set with `gzip_http_version 1.0` instead of `1.1`.
    pub http_1_0: bool,
    /// `gzip_disable`.
    pub disable: Vec<GzipDisable>,
}

/// `brotli*`, with the names of the common module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct BrotliSettings {
    /// `brotli`; `None` if not configured, so that the server decides.
    pub on: Option<bool>,
    /// `brotli_types`, like [`GzipSettings::types`]; `None` if not configured.
    pub types: Option<Vec<String>>,
    /// `brotli_min_length`, in bytes.
    pub min_length: u64,
    /// `brotli_comp_level`, 0 to 11.
    pub comp_level: u8,
    /// `brotli_window`, in bytes.
    pub window: u64,
}

/// `zstd*`, with the names of the common module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ZstdSettings {
    /// `zstd`; `None` if not configured, so that the server decides.
    pub on: Option<bool>,
    /// `zstd_types`, like [`GzipSettings::types`]; `None` if not configured.
    pub types: Option<Vec<String>>,
    /// `zstd_min_length`, in bytes.
    pub min_length: u64,
    /// `zstd_comp_level`, 1 to 22.
    pub comp_level: u8,
}

/// Encodings of a level.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct EncodingSettings {
    /// `gzip*`.
    pub gzip: GzipSettings,
    /// `brotli*`.
    pub brotli: BrotliSettings,
    /// `zstd*`.
    pub zstd: ZstdSettings,
}

myriad_conf::feature_settings!(EncodingSettings);
