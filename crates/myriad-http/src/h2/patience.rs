//! How much the other side may cost without a use: rapid resets, and floods of frames that lead nowhere.
//!
//! There is no clock here, so both are measured against what the connection is of use for: requests that end as they should, and
//! bytes of bodies. Who uses the connection never comes near the limits, however long it lives.

use super::frame::kind;
use super::{ConnectionError, ErrorCode, FRAME_HEADER};
use crate::Resets;

/// Frames without a purpose of their own that may come ahead of heads and bodies.
const FRAMES: u32 = 10_000;
/// What each request, and each piece of a body, is worth in frames: windows are updated for it, settings change.
const WORTH: u32 = 16;
/// Bytes of a body that are worth a frame's header.
const PIECE: usize = 256;
/// Bytes of the shortest message of gRPC, which streams send one after another for as long as they like.
const MESSAGE: usize = 5;
/// Most bytes that wait for a side that goes on asking for answers to control frames.
const BACKLOG: usize = 1024 * 1024;

/// What may be under way on a stream that this side has left, bytes beside what its window allows: a head and its trailers.
const HEADS: u64 = 16 * 1024;
/// Most bytes that are thought to be under way on all such streams together.
const UNDER_WAY: u64 = 64 * 1024 * 1024;

/// What is left of it.
#[derive(Debug)]
pub(super) struct Patience {
    frames: u32,
    resets: Resets,
    /// Bytes that may be under way on streams that this side has left.
    under_way: u64,
}

impl Patience {
    pub(super) fn new(max_streams: u32) -> Self {
        Self { frames: FRAMES, resets: Resets::new(max_streams), under_way: 0 }
    }

    /// A frame has come, and `waiting` bytes of output are not sent yet.
    pub(super) fn frame(&mut self, kind: u8, length: usize, waiting: usize) -> Result<(), ConnectionError> {
        match kind {
            kind::HEADERS => self.frames = FRAMES.min(self.frames + WORTH),
            kind::DATA if length >= PIECE => self.frames = FRAMES.min(self.frames + 1),
            kind::DATA if length >= MESSAGE => {}
            kind::PING | kind::SETTINGS if waiting > BACKLOG => return Err(too_much("answers are not read")),
            _ => self.frames = self.frames.checked_sub(1).ok_or_else(|| too_much("flood of frames"))?,
        }
        Ok(())
    }

    /// A frame has come on a stream that is no more: it may have been under way, but there is no end of such frames.
    pub(super) fn stray(&mut self) -> Result<(), ConnectionError> {
        self.frames = self.frames.checked_sub(2 * WORTH).ok_or_else(|| too_much("flood of frames"))?;
        Ok(())
    }

    /// This side has left a stream on which the other may still send so many bytes: it does not know yet.
    pub(super) fn left(&mut self, window: i64) {
        let more = u64::try_from(window).unwrap_or(0) + HEADS;
        self.under_way = UNDER_WAY.min(self.under_way + more);
    }

    /// As [`Patience::stray`], for the side that leaves streams: what was under way then is nobody's fault.
    pub(super) fn stray_of(&mut self, length: usize) -> Result<(), ConnectionError> {
        match self.under_way.checked_sub((length + FRAME_HEADER) as u64) {
            Some(rest) => self.under_way = rest,
            None => self.stray()?,
        }
        Ok(())
    }

    /// A piece of a body has come that somebody waits for, or has left as whole as it was given: nothing is wasted however short it is.
    pub(super) fn useful(&mut self) {
        self.frames = FRAMES.min(self.frames + 2);
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
