//! Time-outs of a connection's driver.

use crate::client_timeouts::MinRate;

/// Time-outs of the driver, in milliseconds; 0 for no limit unless specified otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// `keepalive_timeout`: maximum idle time of a connection; 0 closes it after the response.
    pub keepalive_ms: u64,
    /// `keepalive_requests`: maximum number of requests per connection.
    pub keepalive_requests: u32,
    /// `send_timeout`: maximum time between two writes that make progress.
    pub send_ms: u64,
    /// `lingering_time`: maximum total time of reading from a client after an early response; 0 disables lingering.
    pub lingering_ms: u64,
    /// `lingering_timeout`: maximum silence while lingering.
    pub lingering_idle_ms: u64,
    /// `lingering_close always`: lingers even if no more data is expected from the client.
    pub lingering_always: bool,
    /// `client_min_rate`.
    pub min_rate: MinRate,
    /// `reset_timedout_connection`: closes with a reset when a client times out, and on 444.
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
