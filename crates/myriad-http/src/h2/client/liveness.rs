//! Liveness check of a silent origin by PING (RFC 9113 §6.7); any frame of the origin counts as a response.

use super::super::frame::kind;

/// Maximum number of PINGs between two frames of responses. gRPC servers treat three PINGs in such a period as an
/// attack and close the connection (`too_many_pings`).
const MOST: u8 = 2;

/// State of the liveness check.
#[derive(Debug, Default)]
pub(super) struct LivenessCheck {
    ping_outstanding: bool,
    /// Number of PINGs since the last frame of a response.
    pings_sent: u8,
}

impl LivenessCheck {
    /// Records a received frame.
    pub(super) fn frame_received(&mut self, kind: u8) {
        self.ping_outstanding = false;
        if matches!(kind, kind::HEADERS | kind::DATA) {
            self.pings_sent = 0;
        }
    }

    /// Returns whether a PING may be sent now: none is outstanding and the limit is not reached.
    pub(super) fn start_ping(&mut self) -> bool {
        let may_ask = !self.ping_outstanding && self.pings_sent < MOST;
        if may_ask {
            self.ping_outstanding = true;
            self.pings_sent += 1;
        }
        may_ask
    }

    /// Returns whether a PING is outstanding.
    pub(super) fn is_ping_outstanding(&self) -> bool {
        self.ping_outstanding
    }
}
