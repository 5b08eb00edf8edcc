//! Whether a silent origin lives: it is asked by PING (RFC 9113 §6.7), and whatever comes from it is its answer.

use super::super::frame::kind;
use super::Client;

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
}

impl Client {
    /// Asks the origin whether it lives, unless that is being asked. False where it has been asked as often as it takes.
    pub fn ask(&mut self) -> bool {
        let alive = &mut self.alive;
        if alive.asked {
            return true;
        }
        if alive.questions == MOST {
            return false;
        }
        alive.asked = true;
        alive.questions += 1;
        self.output.frame(kind::PING, 0, 0, &[0; 8]);
        true
    }

    /// Whether the origin was asked, and nothing has come since.
    pub fn is_asked(&self) -> bool {
        self.alive.asked
    }
}
