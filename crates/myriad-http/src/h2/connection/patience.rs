//! How much a client may cost without being served: rapid resets, and floods of frames that lead nowhere.
//!
//! There is no clock here, so both are measured against what the client is served: requests that end as they should, and
//! bytes of bodies. Someone who uses the connection never comes near the limits, however long it lives.

use super::super::frame::kind;
use super::super::{ConnectionError, ErrorCode};
use crate::Resets;

/// Frames without a purpose of their own that a client may send ahead of requests and bodies.
const FRAMES: u32 = 10_000;
/// What each request, and each piece of a body, is worth in frames: windows are updated for it, settings change.
const WORTH: u32 = 16;
/// Bytes of a body that are worth a frame's header.
const PIECE: usize = 256;
/// Most bytes that wait for a client who goes on asking for answers to control frames.
const BACKLOG: usize = 1024 * 1024;

/// What is left of it.
#[derive(Debug)]
pub(super) struct Patience {
    frames: u32,
    resets: Resets,
}

impl Patience {
    pub(super) fn new(max_streams: u32) -> Self {
        Self { frames: FRAMES, resets: Resets::new(max_streams) }
    }

    /// A frame has come, and `waiting` bytes of output are not sent yet.
    pub(super) fn frame(&mut self, kind: u8, length: usize, waiting: usize) -> Result<(), ConnectionError> {
        match kind {
            kind::HEADERS => self.frames = FRAMES.min(self.frames + WORTH),
            kind::DATA if length >= PIECE => self.frames = FRAMES.min(self.frames + 1),
            kind::PING | kind::SETTINGS if waiting > BACKLOG => return Err(too_much("answers are not read")),
            _ => self.frames = self.frames.checked_sub(1).ok_or_else(|| too_much("flood of frames"))?,
        }
        Ok(())
    }

    /// So many bytes of a body were put into a frame: the client will have its windows updated.
    pub(super) fn served(&mut self, count: usize) {
        if count >= PIECE {
            self.frames = FRAMES.min(self.frames + WORTH);
        }
    }

    /// A request has been answered to its end.
    pub(super) fn answered(&mut self) {
        self.resets.answered();
        self.frames = FRAMES.min(self.frames + WORTH);
    }

    /// A stream has ended for nothing: reset by the client, or because of what the client did.
    pub(super) fn wasted(&mut self) -> Result<(), ConnectionError> {
        if self.resets.wasted() { Err(too_much("flood of resets")) } else { Ok(()) }
    }
}

fn too_much(reason: &'static str) -> ConnectionError {
    ConnectionError::new(ErrorCode::EnhanceYourCalm, reason)
}
