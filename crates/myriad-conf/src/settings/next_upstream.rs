//! When another server of a group is asked.

/// `*_next_upstream`, `_tries`, `_timeout`: when the next server of a group is asked.
///
/// Connecting is always safe to repeat; a request that was sent is repeated where its method is idempotent, or
/// `non_idempotent` is set, and its body is in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NextUpstream {
    /// `error`: no connection, or one that failed.
    pub error: bool,
    /// `timeout`: a step took too long.
    pub timeout: bool,
    /// `denied`: never happens, since no directive denies an address.
    pub denied: bool,
    /// `invalid_header`: the head of the answer was broken, empty or too large.
    pub invalid_header: bool,
    /// `http_500`.
    pub http_500: bool,
    /// `http_502` (HTTP only).
    pub http_502: bool,
    /// `http_503`.
    pub http_503: bool,
    /// `http_504` (HTTP only).
    pub http_504: bool,
    /// `http_403`; no failure of the server.
    pub http_403: bool,
    /// `http_404`; no failure of the server.
    pub http_404: bool,
    /// `http_429`.
    pub http_429: bool,
    /// `non_idempotent`: also for POST, LOCK, PATCH.
    pub non_idempotent: bool,
    /// `*_next_upstream_tries`: most tries; 0 for one of each server.
    pub tries: u32,
    /// `*_next_upstream_timeout`: no new try after so many milliseconds; 0 for no bound.
    pub timeout_ms: u64,
}

impl NextUpstream {
    /// `off`: no other server is ever asked.
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

    /// Whether an answer with this status is reason to ask another server.
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
