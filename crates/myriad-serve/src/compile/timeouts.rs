//! How long a client is waited for.

use myriad_conf::settings::{ClientSettings, Lingering};
use myriad_net::Timeouts;

/// The connection's time-outs.
pub(super) fn timeouts(client: &ClientSettings) -> Timeouts {
    Timeouts {
        keepalive_ms: client.keepalive_timeout,
        keepalive_requests: u32::try_from(client.keepalive_requests).unwrap_or(u32::MAX),
        send_ms: client.send_timeout,
        lingering_ms: if client.lingering_close == Lingering::Off { 0 } else { client.lingering_time },
        lingering_idle_ms: client.lingering_timeout,
        lingering_always: client.lingering_close == Lingering::Always,
        reset_timed_out: client.reset_timedout_connection,
    }
}
