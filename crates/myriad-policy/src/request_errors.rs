//! Errors that concern the request sent to the origin, not the page. If they were stored, all visitors would receive
//! them.
//!
//! A client can cause such an error with data that is not in the key: a field that is too long or rejected by an origin
//! or its firewall, or a precondition. Statuses with this meaning are stored only if `*_cache_valid` lists them, or
//! with `cache_rfc9111` if the response has a validity. No client errors, such as 403 or 404, are stored for requests
//! larger than origins commonly accept.

use myriad_http::Fields;

use crate::{CachePolicy, StatusMatch};

/// Returns whether `*_cache_valid` lists the status by its code, not only by `any`.
pub(crate) fn is_named(status: u16, rules: &CachePolicy) -> bool {
    rules.valid.iter().any(|rule| rule.status == StatusMatch::Code(status))
}

/// Maximum size of all fields of a request that every origin is expected to accept, in bytes: half of the common limit
/// (8 KB in nginx, Apache, Tomcat and Jetty), because Myriad adds fields.
const BYTES_AT_MOST: usize = 4 << 10;

/// Maximum number of fields that every origin is expected to accept: half of Apache's limit.
const FIELDS_AT_MOST: usize = 50;

/// Returns whether a request has more than 50 fields, or more than 4 KB of them, so that an origin may reject it.
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
