//! Which encodings an answer may bear: nginx's gzip modules and the well-known brotli and zstd modules.

use crate::text::Text;

/// `gzip_static`, `brotli_static`, `zstd_static`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StaticMode {
    /// Files ending in `.gz`, `.br`, `.zst` are not looked for.
    #[default]
    Off,
    /// They are sent to clients that accept the encoding.
    On,
    /// They are sent to every client.
    Always,
}

/// `gzip_proxied`: which answers to requests with a `Via` field may be compressed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Proxied {
    /// `expired`.
    pub expired: bool,
    /// `no-cache`.
    pub no_cache: bool,
    /// `no-store`.
    pub no_store: bool,
    /// `private`.
    pub private: bool,
    /// `no_last_modified`.
    pub no_last_modified: bool,
    /// `no_etag`.
    pub no_etag: bool,
    /// `auth`.
    pub auth: bool,
    /// `any`.
    pub any: bool,
}

impl Proxied {
    /// `off`, which is what holds where nothing is written.
    pub fn is_off(self) -> bool {
        self == Self::default()
    }
}

/// One word of `gzip_disable`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GzipDisable {
    /// `msie6`: MSIE 4 to 6, except MSIE 6 with SV1.
    Msie6,
    /// A regex (caseless) on `User-Agent`.
    Regex(Text),
}

/// `gzip*`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GzipSettings {
    /// `gzip`.
    pub on: bool,
    /// `gzip_types`, lower case, always with `text/html`; `*` alone means every type.
    pub types: Vec<String>,
    /// `gzip_min_length`, bytes.
    pub min_length: u64,
    /// `gzip_comp_level`, 1 to 9.
    pub comp_level: u8,
    /// `gzip_vary`.
    pub vary: bool,
    /// `gzip_proxied`.
    pub proxied: Proxied,
    /// `gzip_http_version 1.0` rather than `1.1`.
    pub http_1_0: bool,
    /// `gzip_disable`.
    pub disable: Vec<GzipDisable>,
    /// `gzip_static`.
    pub static_files: StaticMode,
}

/// `brotli*`, with the names of the well-known module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BrotliSettings {
    /// `brotli`; `None` where not written, so that the server may choose.
    pub on: Option<bool>,
    /// `brotli_types`, as [`GzipSettings::types`]; `None` where not written.
    pub types: Option<Vec<String>>,
    /// `brotli_min_length`, bytes.
    pub min_length: u64,
    /// `brotli_comp_level`, 0 to 11.
    pub comp_level: u8,
    /// `brotli_window`, bytes.
    pub window: u64,
    /// `brotli_static`.
    pub static_files: StaticMode,
}

/// `zstd*`, with the names of the well-known module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ZstdSettings {
    /// `zstd`; `None` where not written, so that the server may choose.
    pub on: Option<bool>,
    /// `zstd_types`, as [`GzipSettings::types`]; `None` where not written.
    pub types: Option<Vec<String>>,
    /// `zstd_min_length`, bytes.
    pub min_length: u64,
    /// `zstd_comp_level`, 1 to 22.
    pub comp_level: u8,
    /// `zstd_static`.
    pub static_files: StaticMode,
}

/// Encodings of a level.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EncodingSettings {
    /// `gzip*`.
    pub gzip: GzipSettings,
    /// `brotli*`.
    pub brotli: BrotliSettings,
    /// `zstd*`.
    pub zstd: ZstdSettings,
}
