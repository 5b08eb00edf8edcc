//! What `gzip_proxied` decides by.

use myriad_calendar::parse_http_date;

/// What `gzip_proxied` wants to know of an answer.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProxiedFacts {
    /// `Expires` in the past.
    pub expired: Option<bool>,
    /// It has `Cache-Control`.
    pub has_cache_control: bool,
    /// `Cache-Control: no-cache`.
    pub no_cache: bool,
    /// `Cache-Control: no-store`.
    pub no_store: bool,
    /// `Cache-Control: private`.
    pub private: bool,
    /// There is a `Last-Modified`.
    pub has_last_modified: bool,
    /// There is an `ETag`.
    pub has_etag: bool,
}

impl ProxiedFacts {
    /// Whether an `Expires` is over, as nginx judges it for `gzip_proxied`: what is no date is not.
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
