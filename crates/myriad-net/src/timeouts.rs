//! How long a connection's driver waits for its client.

use crate::patience::MinRate;

/// How long the driver waits; all in milliseconds, 0 for no limit unless said otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// `keepalive_timeout`: how long an idle connection stays open; 0 closes after the answer.
    pub keepalive_ms: u64,
    /// `keepalive_requests`: how many requests a connection may make.
    pub keepalive_requests: u32,
    /// `send_timeout`: between two writes that make progress.
    pub send_ms: u64,
    /// `lingering_time`: in total, reading what a client still sends after an early answer; 0 for no lingering.
    pub lingering_ms: u64,
    /// `lingering_timeout`: the longest silence while lingering.
    pub lingering_idle_ms: u64,
    /// `lingering_close always`: linger also where nothing more is expected of the client.
    pub lingering_always: bool,
    /// `client_min_rate`.
    pub min_rate: MinRate,
    /// `reset_timedout_connection`: close with a reset when a client times out, and on 444.
    pub reset_timed_out: bool,
}

impl Default for Timeouts {
    /// nginx's defaults, and that of `client_min_rate`.
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
