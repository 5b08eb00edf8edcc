//! Which statuses say something of the request that was sent, not of the page.

/// Whether the status speaks of the request (RFC 9110 §15.5): malformed, its method, body, length, range, expectation or
/// fields; and 501, of a method or coding that the origin does not know.
pub(crate) const fn is_of_the_request(status: u16) -> bool {
    matches!(status, 400 | 405 | 411..=417 | 431 | 501)
}
