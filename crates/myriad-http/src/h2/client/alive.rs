//! Liveness check of a silent origin by PING (RFC 9113 §6.7); any frame of the origin counts as a response.

use super::super::frame::kind;

/// Maximum number of PINGs between two frames of responses. gRPC servers treat three PINGs in such a period as an
/// attack and close the connection (`too_many_pings`).
const MOST: u8 = 2;

/// State of the liveness check.
#[derive(Debug, Default)]
pub(super) struct Alive {
    asked: bool,
    /// Number of PINGs since the last frame of a response.
    questions: u8,
}

impl Alive {
    /// Records a received frame.
    pub(super) fn heard(&mut self, kind: u8) {
        self.asked = false;
        if matches!(kind, kind::HEADERS | kind::DATA) {
            self.questions = 0;
        }
    }

    /// Returns whether a PING may be sent now: none is outstanding and the limit is not reached.
    pub(super) fn begin(&mut self) -> bool {
        let may_ask = !self.asked && self.questions < MOST;
        if may_ask {
            self.asked = true;
            self.questions += 1;
        }
        may_ask
    }

    /// Returns whether a PING is outstanding.
    pub(super) fn is_asked(&self) -> bool {
        self.asked
    }
}
