//! Compression of responses to proxies (`gzip_proxied`).

/// `gzip_proxied`: kinds of responses that may be compressed for requests with `Via`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GzipProxied {
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

impl GzipProxied {
    /// Returns true for `off`, the default.
    pub fn is_off(self) -> bool {
        self == Self::default()
    }
}
