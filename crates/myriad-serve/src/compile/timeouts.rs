//! Compilation of the timeouts and the minimum transfer rate of client connections.

use myriad_conf::settings::{self, ClientSettings, Lingering};
use myriad_net::{MinRate, Timeouts};

/// Converts `client_min_rate`; `None` is no minimum rate. Values above `u32::MAX` are reduced to it.
fn min_rate(conf: Option<settings::MinRate>) -> MinRate {
    let fit = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
    conf.map_or(MinRate::NONE, |rate| MinRate {
        bytes_per_second: fit(rate.rate),
        grace_ms: fit(rate.grace),
        under_pressure: rate.under_pressure,
    })
}

/// Returns the timeouts of a client connection, including its minimum transfer rate.
pub(super) fn timeouts(client: &ClientSettings) -> Timeouts {
    Timeouts {
        keepalive_ms: client.keepalive_timeout,
        keepalive_requests: u32::try_from(client.keepalive_requests).unwrap_or(u32::MAX),
        send_ms: client.send_timeout,
        lingering_ms: if client.lingering_close == Lingering::Off { 0 } else { client.lingering_time },
        lingering_idle_ms: client.lingering_timeout,
        lingering_always: client.lingering_close == Lingering::Always,
        min_rate: min_rate(client.min_rate),
        reset_timed_out: client.reset_timedout_connection,
    }
}
