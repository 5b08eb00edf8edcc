//! Check by PING whether a silent origin is alive (RFC 9113 §6.7). Any received frame counts as a sign of life.

use super::super::frame::kind;

/// Maximum number of PINGs without a HEADERS or DATA frame in between. gRPC servers treat three as an attack and close
/// the connection (`too_many_pings`).
const MOST: u8 = 2;

/// State of the PINGs that check whether the origin of a connection still responds.
#[derive(Debug, Default)]
pub(super) struct LivenessCheck {
    ping_outstanding: bool,
    /// Number of PINGs since the last HEADERS or DATA frame.
    pings_sent: u8,
}

impl LivenessCheck {
    /// Records a received frame of type `kind`, which proves that the origin responds.
    pub(super) fn frame_received(&mut self, kind: u8) {
        self.ping_outstanding = false;
        if matches!(kind, kind::HEADERS | kind::DATA) {
            self.pings_sent = 0;
        }
    }

    /// Records a PING and returns true if it may be sent: none is outstanding and the limit is not reached.
    pub(super) fn start_ping(&mut self) -> bool {
        let may_ask = !self.ping_outstanding && self.pings_sent < MOST;
        if may_ask {
            self.ping_outstanding = true;
            self.pings_sent += 1;
        }
        may_ask
    }

    /// Returns whether a PING was sent and nothing has been received since.
    pub(super) fn is_ping_outstanding(&self) -> bool {
        self.ping_outstanding
    }
}
