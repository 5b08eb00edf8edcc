//! Flood protection: limits for rapid resets and for useless frames.
//!
//! No clock is used. Both limits are relative to the useful work of the connection: requests that complete normally,
//! and bytes of bodies. Normal use of a connection never reaches them, whatever its age.

use super::frame::kind;
use super::{ConnectionError, ErrorCode, FRAME_HEADER};
use crate::ResetBudget;

/// Number of useless frames, such as PING or SETTINGS, that a peer may initially send, and maximum to which its
/// requests and bodies can restore this number.
const FRAMES: u32 = 10_000;
/// Number of useless frames, such as window updates and settings, that the peer may send for each received HEADERS
/// frame, for each complete response, and for each sent piece of a body of at least [`PIECE`] bytes.
const WORTH: u32 = 16;
/// Minimum payload in bytes of a received DATA frame, or length of a sent piece of a body, by which
/// [`AbuseBudget::record_frame`] or [`AbuseBudget::record_sent_bytes`] permits further frames.
const PIECE: usize = 256;
/// Length in bytes of the shortest gRPC message. DATA frames from this length on are not counted as useless.
const MESSAGE: usize = 5;
/// Number of pending output bytes up to which the peer may send PING and SETTINGS frames, which require a response.
const BACKLOG: usize = 1024 * 1024;

/// Number of header bytes (head and trailers) that the peer is assumed to have in flight, in addition to body data, on
/// a stream that this side closes.
const HEADS: u64 = 16 * 1024;
/// Maximum number of bytes that are assumed to be in flight on all closed streams of a connection together.
const UNDER_WAY: u64 = 64 * 1024 * 1024;

/// Remaining numbers of useless frames, resets, and bytes on closed streams that the peer of an HTTP/2 connection may
/// send.
#[derive(Debug)]
pub(super) struct AbuseBudget {
    frames: u32,
    resets: ResetBudget,
    /// Number of bytes that the peer may still have in flight on streams that this side has closed.
    under_way: u64,
}

impl AbuseBudget {
    pub(super) fn new(max_streams: u32) -> Self {
        Self { frames: FRAMES, resets: ResetBudget::new(max_streams), under_way: 0 }
    }

    /// Records a received frame of type `kind` with a payload of `length` bytes. HEADERS, and DATA of at least
    /// [`PIECE`] bytes, permit further useless frames; DATA of at least [`MESSAGE`] bytes costs nothing; any other
    /// frame uses up one. `waiting` is the number of pending output bytes. Returns an error if no useless frame is
    /// left, or for PING and SETTINGS if `waiting` exceeds [`BACKLOG`].
    pub(super) fn record_frame(
        &mut self,
        kind: u8,
        length: usize,
        waiting: usize,
    ) -> Result<(), ConnectionError> {
        match kind {
            kind::HEADERS => self.frames = FRAMES.min(self.frames + WORTH),
            kind::DATA if length >= PIECE => self.frames = FRAMES.min(self.frames + 1),
            kind::DATA if length >= MESSAGE => {}
            kind::PING | kind::SETTINGS if waiting > BACKLOG => {
                return Err(limit_exceeded("responses to SETTINGS and PING are not read"));
            }
            _ => self.frames = self.frames.checked_sub(1).ok_or_else(|| limit_exceeded("flood of frames"))?,
        }
        Ok(())
    }

    /// Records a frame on a closed stream, which counts as 32 useless frames. Some may have been in flight when the
    /// stream was closed; returns an error if the remaining number of useless frames is exceeded.
    pub(super) fn record_stray_frame(&mut self) -> Result<(), ConnectionError> {
        self.frames = self.frames.checked_sub(2 * WORTH).ok_or_else(|| limit_exceeded("flood of frames"))?;
        Ok(())
    }

    /// Records that this side closes a stream on which the peer may send up to `window` bytes until it is notified.
    pub(super) fn record_closed_stream(&mut self, window: i64) {
        let more = u64::try_from(window).unwrap_or(0) + HEADS;
        self.under_way = UNDER_WAY.min(self.under_way + more);
    }

    /// Records a frame of `length` bytes on a closed stream. It is charged, as by [`AbuseBudget::record_stray_frame`],
    /// only if it cannot have been in flight when this side closed the stream; returns an error if the remaining number
    /// of useless frames is then exceeded.
    pub(super) fn record_stray_bytes(&mut self, length: usize) -> Result<(), ConnectionError> {
        match self.under_way.checked_sub((length + FRAME_HEADER) as u64) {
            Some(rest) => self.under_way = rest,
            None => self.record_stray_frame()?,
        }
        Ok(())
    }

    /// Records a piece of a body, of any length, that was received and is passed on, or that was sent completely. The
    /// peer may send two further frames for it.
    pub(super) fn record_useful_piece(&mut self) {
        self.frames = FRAMES.min(self.frames + 2);
    }

    /// Records a sent frame with `count` bytes of a body. From [`PIECE`] bytes on, it permits [`WORTH`] further frames,
    /// because the peer responds with window updates.
    pub(super) fn record_sent_bytes(&mut self, count: usize) {
        if count >= PIECE {
            self.frames = FRAMES.min(self.frames + WORTH);
        }
    }

    /// Records a request whose response is complete, which permits one more reset and [`WORTH`] further frames.
    pub(super) fn record_answered(&mut self) {
        self.resets.record_answered();
        self.frames = FRAMES.min(self.frames + WORTH);
    }

    /// Records a stream that was reset by the peer, or because of an error of the peer; an error if there are too many.
    pub(super) fn record_wasted(&mut self) -> Result<(), ConnectionError> {
        if self.resets.record_reset() { Err(limit_exceeded("flood of resets")) } else { Ok(()) }
    }
}

fn limit_exceeded(reason: &'static str) -> ConnectionError {
    ConnectionError::new(ErrorCode::EnhanceYourCalm, reason)
}
