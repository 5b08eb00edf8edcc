//! A header block on its way.

use super::frame::FrameHeader;
use super::{ConnectionError, ErrorCode};

/// Most `CONTINUATION` frames of one block: a block that is not larger than allowed needs few.
const CONTINUATIONS: u32 = 100;

/// A block of which frames are missing.
#[derive(Debug)]
pub(super) struct Block {
    pub(super) opening: FrameHeader,
    pub(super) bytes: Vec<u8>,
    frames: u32,
    /// The stream depends on itself (RFC 7540 §5.3.1).
    pub(super) selfish: bool,
}

impl Block {
    /// A block that begins with a frame; `selfish` says that its stream depends on itself.
    pub(super) fn new(opening: FrameHeader, fragment: &[u8], selfish: bool) -> Self {
        Self { opening, bytes: fragment.to_vec(), frames: 0, selfish }
    }

    /// Takes the fragment of a `CONTINUATION`; all of them are at most `most` bytes.
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
