//! Timeouts of client connections.

use crate::client_timeouts::MinRate;

/// Timeouts and limits of a connection. Times are in milliseconds; 0 means no limit unless specified otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// `keepalive_timeout`: maximum idle time of a connection; 0 closes it after the response.
    pub keepalive_ms: u64,
    /// `keepalive_requests`: maximum number of requests per connection; 0 closes it after the first response, as 1
    /// does.
    pub keepalive_requests: u32,
    /// `send_timeout`: maximum time in which the client accepts no bytes of a response.
    pub send_ms: u64,
    /// `lingering_time`: maximum total time of discarding input before a close; 0 if `lingering_close` is off.
    pub lingering_ms: u64,
    /// `lingering_timeout`: maximum silence of the client while input is discarded; 0 counts as 1 ms.
    pub lingering_idle_ms: u64,
    /// True for `lingering_close always`: discards input even if none is expected.
    pub lingering_always: bool,
    /// Minimum transfer rate of the client (`client_min_rate`).
    pub min_rate: MinRate,
    /// `reset_timedout_connection`: if true, a connection is closed with a reset after a timeout while sending, and for
    /// status 444.
    pub reset_timed_out: bool,
}

impl Default for Timeouts {
    /// Returns nginx's defaults, and the default of `client_min_rate`.
    fn default() -> Self {
        Self {
            keepalive_ms: 75_000,
            keepalive_requests: 1000,
            send_ms: 60_000,
            lingering_ms: 30_000,
            lingering_idle_ms: 5_000,
            lingering_always: false,
            min_rate: MinRate { bytes_per_second: 100, grace_ms: 30_000, under_pressure: true },
            reset_timed_out: false,
        }
    }
}
