//! Whether a silent origin lives: it is asked by PING (RFC 9113 §6.7), and whatever comes from it is its answer.

use super::super::frame::kind;

/// Most questions between two frames of answers to requests. Servers of gRPC take three PINGs in such a silence for an attack, and end
/// the connection (`too_many_pings`).
const MOST: u8 = 2;

/// What is known of it.
#[derive(Debug, Default)]
pub(super) struct Alive {
    asked: bool,
    /// Questions since an answer to a request came.
    questions: u8,
}

impl Alive {
    /// A frame has come.
    pub(super) fn heard(&mut self, kind: u8) {
        self.asked = false;
        if matches!(kind, kind::HEADERS | kind::DATA) {
            self.questions = 0;
        }
    }

    /// Whether a question is to be sent now: none waits for its answer, and there were not too many.
    pub(super) fn begin(&mut self) -> bool {
        let may_ask = !self.asked && self.questions < MOST;
        if may_ask {
            self.asked = true;
            self.questions += 1;
        }
        may_ask
    }

    /// Whether a question waits for its answer.
    pub(super) fn is_asked(&self) -> bool {
        self.asked
    }
}
