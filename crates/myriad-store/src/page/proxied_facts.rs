//! Facts about a response for `gzip_proxied`.

use myriad_base::calendar::parse_http_date;

/// Facts about a response for `gzip_proxied`.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProxiedFacts {
    /// Set if `Expires` is in the past; `None` without the field.
    pub expired: Option<bool>,
    /// Set if `Cache-Control` is present.
    pub has_cache_control: bool,
    /// Set if it contains `no-cache`.
    pub no_cache: bool,
    /// Set if it contains `no-store`.
    pub no_store: bool,
    /// Set if it contains `private`.
    pub private: bool,
    /// Set if `Last-Modified` is present.
    pub has_last_modified: bool,
    /// Set if `ETag` is present.
    pub has_etag: bool,
}

impl ProxiedFacts {
    /// Returns whether an `Expires` is in the past, as nginx decides for `gzip_proxied`: a value that is not a date is
    /// not in the past.
    pub fn is_over(expires: &[u8], now_s: u64) -> bool {
        parse_http_date(expires, now_s).is_some_and(|expires| expires < now_s)
    }
}

#[cfg(test)]
mod tests {
    use super::ProxiedFacts;

    #[test]
    fn date_in_the_past_is_over_and_what_is_no_date_is_not() {
        assert!(ProxiedFacts::is_over(b"Sun, 06 Nov 1994 08:49:37 GMT", 784_111_778));
        assert!(!ProxiedFacts::is_over(b"Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777));
        assert!(!ProxiedFacts::is_over(b"0", 784_111_777));
    }
}
