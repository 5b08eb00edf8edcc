//! Statuses that concern the request sent to the origin, not the page.

/// Returns whether the status reports an error in the request itself (RFC 9110 §15.5): a malformed request, or its
/// method, body, length, range, expectation or fields. Includes 501, for an unknown method or coding.
pub(crate) const fn is_request_error(status: u16) -> bool {
    matches!(status, 400 | 405 | 411..=417 | 431 | 501)
}
