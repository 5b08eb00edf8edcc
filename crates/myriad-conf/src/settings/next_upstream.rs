//! Conditions for retrying a request on another server of a group.

/// `*_next_upstream` with `_tries` and `_timeout`: conditions for retrying a request on the next server of a group.
///
/// A failed connection attempt or TLS handshake can always be repeated, if its condition (`error` or `timeout`) is set.
/// The same applies to a request that an HTTP/2 origin has refused. Any other request that was sent is only retried if
/// its method is idempotent or `non_idempotent` is set, and if its body can be sent again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NextUpstream {
    /// `error`: true to retry if the connection failed or could not be opened, or the origin refused the request.
    pub error: bool,
    /// `timeout`: true to retry if connecting, sending or receiving took too long.
    pub timeout: bool,
    /// `denied`: true if written. The condition never occurs, because no directive denies an address.
    pub denied: bool,
    /// `invalid_header`: true to retry if the response was invalid or its head too large.
    pub invalid_header: bool,
    /// `http_500`: true to retry if the server responded with 500.
    pub http_500: bool,
    /// `http_502` (HTTP only): true to retry if the server responded with 502.
    pub http_502: bool,
    /// `http_503`: true to retry if the server responded with 503.
    pub http_503: bool,
    /// `http_504` (HTTP only): true to retry if the server responded with 504.
    pub http_504: bool,
    /// `http_403`: true to retry if the server responded with 403, which is not counted as a failure of the server.
    pub http_403: bool,
    /// `http_404`: true to retry if the server responded with 404, which is not counted as a failure of the server.
    pub http_404: bool,
    /// `http_429`: true to retry if the server responded with 429.
    pub http_429: bool,
    /// `non_idempotent`: true to retry also sent requests whose method is not idempotent, such as POST.
    pub non_idempotent: bool,
    /// `*_next_upstream_tries`: maximum number of servers to try; 0 for each server once.
    pub tries: u32,
    /// `*_next_upstream_timeout`: time after which no other server is tried, in milliseconds; 0 for no limit.
    pub timeout_ms: u64,
}

impl NextUpstream {
    /// `off`: no condition, so requests are never retried on another server.
    pub const OFF: Self = Self {
        error: false,
        timeout: false,
        denied: false,
        invalid_header: false,
        http_500: false,
        http_502: false,
        http_503: false,
        http_504: false,
        http_403: false,
        http_404: false,
        http_429: false,
        non_idempotent: false,
        tries: 0,
        timeout_ms: 0,
    };

    /// Returns whether this response status is one of the conditions for a retry. Does not check whether the request
    /// may be sent again.
    pub fn on_status(&self, status: u16) -> bool {
        match status {
            500 => self.http_500,
            502 => self.http_502,
            503 => self.http_503,
            504 => self.http_504,
            403 => self.http_403,
            404 => self.http_404,
            429 => self.http_429,
            _ => false,
        }
    }
}
