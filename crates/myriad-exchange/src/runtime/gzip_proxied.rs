//! Compression of responses to proxies (`gzip_proxied`).

/// `gzip_proxied`: kinds of responses that may be compressed for requests with `Via`. If at least one field is set,
/// responses without `Expires` and `Cache-Control` may be compressed, unless [`Self::no_last_modified`] or
/// [`Self::no_etag`] excludes them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GzipProxied {
    /// `expired`: responses whose `Expires` is in the past.
    pub expired: bool,
    /// `no-cache`: responses with `Cache-Control: no-cache` and without `Expires`.
    pub no_cache: bool,
    /// `no-store`: responses with `Cache-Control: no-store` and without `Expires`.
    pub no_store: bool,
    /// `private`: responses with `Cache-Control: private` and without `Expires`.
    pub private: bool,
    /// `no_last_modified`: of the responses without `Expires` and `Cache-Control`, only those without `Last-Modified`.
    pub no_last_modified: bool,
    /// `no_etag`: of the responses without `Expires` and `Cache-Control`, only those without `ETag`.
    pub no_etag: bool,
    /// `auth`: responses to requests with `Authorization`.
    pub auth: bool,
    /// `any`: all responses.
    pub any: bool,
}

impl GzipProxied {
    /// Returns true for `off`, the default.
    pub fn is_off(self) -> bool {
        self == Self::default()
    }
}
