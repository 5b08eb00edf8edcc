//! Facts by which `gzip_proxied` decides.

use myriad_calendar::parse_http_date;

/// Facts of an answer by which `gzip_proxied` decides.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProxiedFacts {
    /// Whether `Expires` is in the past.
    pub expired: Option<bool>,
    /// Whether there is a `Cache-Control`.
    pub has_cache_control: bool,
    /// Whether it says `no-cache`.
    pub no_cache: bool,
    /// Whether it says `no-store`.
    pub no_store: bool,
    /// Whether it says `private`.
    pub private: bool,
    /// Whether there is a `Last-Modified`.
    pub has_last_modified: bool,
    /// Whether there is an `ETag`.
    pub has_etag: bool,
}

impl ProxiedFacts {
    /// Whether an `Expires` is in the past, as nginx judges it for `gzip_proxied`: a value that is no date is not.
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
