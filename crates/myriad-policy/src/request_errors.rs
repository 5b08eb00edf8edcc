//! Errors that say something of the request that was sent, not of the page: stored, they would be everybody's.
//!
//! A visitor brings them about with what is not in the key: a field that is too long, one that an origin or its firewall
//! refuses, a condition. The statuses that mean this by themselves are stored only by their own name; others, 403 or
//! 404, not for a request that is larger than origins commonly take.

use myriad_http::Fields;

use crate::{Rules, StatusMatch};

/// Whether `*_cache_valid` names the status.
pub(crate) fn is_named(status: u16, rules: &Rules) -> bool {
    rules.valid.iter().any(|rule| rule.status == StatusMatch::Code(status))
}

/// The most bytes of a request's fields, and of any one, that are sure to be taken everywhere: half of what origins
/// commonly take (8 KB in nginx, Apache, Tomcat and Jetty), since this server adds fields of its own.
const BYTES_AT_MOST: usize = 4 << 10;

/// The most fields, by the same reckoning: Apache takes 100.
const FIELDS_AT_MOST: usize = 50;

/// Whether a request with these fields is so large that an origin may refuse it for that alone.
pub fn is_large_request(fields: &Fields) -> bool {
    // `name: value` CRLF
    let bytes = || fields.iter().map(|(name, value)| name.len() + value.len() + 4).sum::<usize>();
    fields.len() > FIELDS_AT_MOST || bytes() > BYTES_AT_MOST
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_browser_s_request_is_not_large_and_one_that_origins_refuse_is() {
        let of = |fields: usize, bytes: usize| -> Fields {
            (0..fields).map(|number| (format!("X-{number}"), "x".repeat(bytes))).collect()
        };
        assert!(!is_large_request(&of(30, 100)));
        for (fields, bytes) in [(1, 8 << 10), (100, 10), (16, 512), (51, 1), (1, 4096)] {
            assert!(is_large_request(&of(fields, bytes)), "{fields} of {bytes}");
        }
    }
}
