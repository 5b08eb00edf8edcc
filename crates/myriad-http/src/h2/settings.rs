//! HTTP/2 settings of the peer (RFC 9113 §6.5.2).

use super::{ConnectionError, ErrorCode, MAX_FRAME};

/// Maximum size of a flow-control window in bytes (RFC 9113 §6.9.1).
pub(super) const MAX_WINDOW: u32 = 0x7fff_ffff;

pub(super) const HEADER_TABLE_SIZE: u16 = 1;
pub(super) const ENABLE_PUSH: u16 = 2;
pub(super) const MAX_CONCURRENT_STREAMS: u16 = 3;
pub(super) const INITIAL_WINDOW_SIZE: u16 = 4;
pub(super) const MAX_FRAME_SIZE: u16 = 5;
/// Setting by which a peer declares that it ignores the priorities of RFC 7540 (RFC 9218 §2.1).
pub(super) const NO_RFC7540_PRIORITIES: u16 = 9;

/// Encodes the payload of a `SETTINGS` frame from pairs of identifier and value.
pub(super) fn payload(all: &[(u16, u32)]) -> Vec<u8> {
    let bytes = |(id, value): &(u16, u32)| id.to_be_bytes().into_iter().chain(value.to_be_bytes());
    all.iter().flat_map(bytes).collect()
}

/// Settings that the peer has announced, as far as this side uses them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PeerSettings {
    /// Maximum size in bytes of the dynamic compression table that the peer accepts.
    pub(super) header_table: u32,
    /// Initial send window of a stream, in bytes.
    pub(super) initial_window: u32,
    /// Maximum frame payload that the peer accepts, in bytes.
    pub(super) max_frame: u32,
    /// Maximum number of concurrent streams that the peer accepts; `None` if not announced.
    pub(super) max_streams: Option<u32>,
    /// True if the peer enabled push, which only a client may do.
    pub(super) push: bool,
}

impl Default for PeerSettings {
    fn default() -> Self {
        Self {
            header_table: 4096,
            initial_window: 65_535,
            max_frame: MAX_FRAME as u32,
            max_streams: None,
            push: false,
        }
    }
}

impl PeerSettings {
    /// Applies the payload of a `SETTINGS` frame. Unknown settings are ignored; invalid ones are a connection error.
    pub(super) fn apply(&mut self, payload: &[u8]) -> Result<(), ConnectionError> {
        let (all, []) = payload.as_chunks::<6>() else {
            return Err(ConnectionError::new(
                ErrorCode::FrameSize,
                "size of SETTINGS is not a multiple of 6",
            ));
        };
        for &[a, b, value @ ..] in all {
            let value = u32::from_be_bytes(value);
            match u16::from_be_bytes([a, b]) {
                HEADER_TABLE_SIZE => self.header_table = value,
                ENABLE_PUSH if value > 1 => return Err(ConnectionError::protocol("invalid ENABLE_PUSH")),
                ENABLE_PUSH => self.push = value == 1,
                MAX_CONCURRENT_STREAMS => self.max_streams = Some(value),
                INITIAL_WINDOW_SIZE if value > MAX_WINDOW => {
                    return Err(ConnectionError::new(ErrorCode::FlowControl, "invalid INITIAL_WINDOW_SIZE"));
                }
                INITIAL_WINDOW_SIZE => self.initial_window = value,
                MAX_FRAME_SIZE if !(MAX_FRAME as u32..=0xff_ffff).contains(&value) => {
                    return Err(ConnectionError::protocol("invalid MAX_FRAME_SIZE"));
                }
                MAX_FRAME_SIZE => self.max_frame = value,
                NO_RFC7540_PRIORITIES if value > 1 => {
                    return Err(ConnectionError::protocol("invalid NO_RFC7540_PRIORITIES"));
                }
                _ => {}
            }
        }
        Ok(())
    }
}
