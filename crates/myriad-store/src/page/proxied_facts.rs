//! Facts about a response on which `gzip_proxied` depends.

use myriad_base::calendar::parse_http_date;

/// Facts about a response on which `gzip_proxied` depends.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProxiedFacts {
    /// True if `Expires` is in the past; `None` without this field.
    pub expired: Option<bool>,
    /// Set if `Cache-Control` is present.
    pub has_cache_control: bool,
    /// Set if `Cache-Control` contains `no-cache`.
    pub no_cache: bool,
    /// Set if `Cache-Control` contains `no-store`.
    pub no_store: bool,
    /// Set if `Cache-Control` contains `private`.
    pub private: bool,
    /// Set if `Last-Modified` is present.
    pub has_last_modified: bool,
    /// Set if `ETag` is present.
    pub has_etag: bool,
}

impl ProxiedFacts {
    /// Returns true if the value of `Expires` is before `now_s` (seconds since the epoch). A value that is not a date
    /// is not in the past, as in nginx.
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
