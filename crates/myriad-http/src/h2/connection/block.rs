//! A header block on its way.

use super::super::frame::FrameHeader;

/// A block of which frames are missing.
#[derive(Debug)]
pub(super) struct Block {
    pub(super) opening: FrameHeader,
    pub(super) bytes: Vec<u8>,
    pub(super) frames: u32,
    /// The stream depends on itself (RFC 7540 §5.3.1).
    pub(super) selfish: bool,
}

impl Block {
    pub(super) fn stream(&self) -> u32 {
        self.opening.stream
    }
}
