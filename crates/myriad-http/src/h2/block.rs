//! HTTP/2 header block of which more frames are expected.

use super::frame::FrameHeader;
use super::{ConnectionError, ErrorCode};

/// Maximum number of `CONTINUATION` frames of a header block.
const CONTINUATIONS: u32 = 100;

/// Header block that is incomplete: `CONTINUATION` frames are still missing.
#[derive(Debug)]
pub(super) struct PartialHeaderBlock {
    pub(super) opening: FrameHeader,
    pub(super) bytes: Vec<u8>,
    frames: u32,
    /// True if the stream of the block depends on itself (RFC 7540 §5.3.1), which is an error.
    pub(super) depends_on_itself: bool,
}

impl PartialHeaderBlock {
    /// Creates an incomplete block from the header and the fragment of its first frame.
    pub(super) fn new(opening: FrameHeader, fragment: &[u8], depends_on_itself: bool) -> Self {
        Self { opening, bytes: fragment.to_vec(), frames: 0, depends_on_itself }
    }

    /// Appends the fragment of a `CONTINUATION` frame. Fails if all fragments together have more than `most` bytes, or
    /// after more than [`CONTINUATIONS`] frames.
    pub(super) fn extend(&mut self, fragment: &[u8], most: usize) -> Result<(), ConnectionError> {
        self.frames += 1;
        self.bytes.extend_from_slice(fragment);
        if self.frames > CONTINUATIONS || self.bytes.len() > most {
            return Err(ConnectionError::new(ErrorCode::EnhanceYourCalm, "header block too large"));
        }
        Ok(())
    }

    pub(super) fn stream(&self) -> u32 {
        self.opening.stream
    }
}
