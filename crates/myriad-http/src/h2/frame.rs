//! HTTP/2 frames (RFC 9113 §4.1, §6): the header of nine bytes, and parts that payloads have in common.

use std::ops::Range;

use super::{ConnectionError, ErrorCode, FRAME_HEADER};

/// Frame types that are processed; others are ignored (RFC 9113 §5.5).
pub(super) mod kind {
    pub(in super::super) const DATA: u8 = 0;
    pub(in super::super) const HEADERS: u8 = 1;
    pub(in super::super) const PRIORITY: u8 = 2;
    pub(in super::super) const RST_STREAM: u8 = 3;
    pub(in super::super) const SETTINGS: u8 = 4;
    pub(in super::super) const PUSH_PROMISE: u8 = 5;
    pub(in super::super) const PING: u8 = 6;
    pub(in super::super) const GOAWAY: u8 = 7;
    pub(in super::super) const WINDOW_UPDATE: u8 = 8;
    pub(in super::super) const CONTINUATION: u8 = 9;
    /// Type of the frame that sets the priority of a response (RFC 9218 §7.1).
    pub(in super::super) const PRIORITY_UPDATE: u8 = 16;
}

/// Frame flags; RFC 9113 §6 defines which frame types have them.
pub(super) mod flag {
    pub(in super::super) const ACK: u8 = 0x1;
    pub(in super::super) const END_STREAM: u8 = 0x1;
    pub(in super::super) const END_HEADERS: u8 = 0x4;
    pub(in super::super) const PADDED: u8 = 0x8;
    pub(in super::super) const PRIORITY: u8 = 0x20;
}

/// Frame header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FrameHeader {
    /// Length of the payload in bytes.
    pub(super) length: usize,
    pub(super) kind: u8,
    pub(super) flags: u8,
    /// Stream identifier without the reserved bit; 0 means the connection.
    pub(super) stream: u32,
}

impl FrameHeader {
    /// Parses a header at the start of `input`; `None` if it is incomplete.
    pub(super) fn read(input: &[u8]) -> Option<Self> {
        let [a, b, c, kind, flags, stream @ ..] = input.first_chunk::<FRAME_HEADER>()?;
        let length = usize::from(*a) << 16 | usize::from(*b) << 8 | usize::from(*c);
        let stream = u32::from_be_bytes(*stream) & 0x7fff_ffff;
        Some(Self { length, kind: *kind, flags: *flags, stream })
    }

    /// Returns the header in its wire format.
    pub(super) fn bytes(self) -> [u8; FRAME_HEADER] {
        let mut bytes = [0; FRAME_HEADER];
        bytes[..3].copy_from_slice(&(self.length as u32).to_be_bytes()[1..]);
        bytes[3] = self.kind;
        bytes[4] = self.flags;
        bytes[5..].copy_from_slice(&self.stream.to_be_bytes());
        bytes
    }

    pub(super) fn has(self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    /// Rejects a frame whose size is invalid for its type, or whose type is not allowed on its stream, by rules that
    /// apply to clients and servers.
    pub(super) fn check_form(self) -> Result<(), ConnectionError> {
        let size = |reason| Err(ConnectionError::new(ErrorCode::FrameSize, reason));
        let place = |reason| Err(ConnectionError::protocol(reason));
        match self.kind {
            kind::PING if self.length != 8 => size("PING of a size other than 8"),
            kind::PING if self.stream != 0 => place("PING on a stream"),
            kind::GOAWAY if self.length < 8 => size("GOAWAY too short"),
            kind::GOAWAY if self.stream != 0 => place("GOAWAY on a stream"),
            kind::RST_STREAM if self.length != 4 => size("RST_STREAM of a size other than 4"),
            kind::WINDOW_UPDATE if self.length != 4 => size("WINDOW_UPDATE of a size other than 4"),
            kind::SETTINGS if self.stream != 0 => place("SETTINGS on a stream"),
            kind::SETTINGS if self.has(flag::ACK) && self.length != 0 => {
                size("SETTINGS with ACK and a payload")
            }
            _ => Ok(()),
        }
    }
}

/// Returns the range of the payload without its padding (RFC 9113 §6.1), or the error code if the padding is invalid.
pub(super) fn unpadded(header: FrameHeader, payload: &[u8]) -> Result<Range<usize>, ErrorCode> {
    if !header.has(flag::PADDED) {
        return Ok(0..payload.len());
    }
    let padding = usize::from(*payload.first().ok_or(ErrorCode::FrameSize)?);
    // The padding may fill the whole payload except for its length byte.
    let end = payload.len().checked_sub(padding).filter(|end| *end >= 1).ok_or(ErrorCode::Protocol)?;
    Ok(1..end)
}

/// Returns the header block fragment in a `HEADERS` frame, without padding and priority, and true if its stream depends
/// on itself (RFC 7540 §5.3.1). Fails if the padding is invalid or the frame is too short.
pub(super) fn fragment(header: FrameHeader, payload: &[u8]) -> Result<(&[u8], bool), ConnectionError> {
    let range = unpadded(header, payload).map_err(|code| ConnectionError::new(code, "invalid padding"))?;
    let fragment = &payload[range];
    if !header.has(flag::PRIORITY) {
        return Ok((fragment, false));
    }
    match fragment.split_at_checked(5) {
        Some((priority, rest)) => Ok((rest, number(priority) == Some(header.stream))),
        None => Err(ConnectionError::new(ErrorCode::FrameSize, "HEADERS too short for its priority")),
    }
}

/// Returns the 31-bit number (stream or window increment) in the first four bytes; `None` if there are fewer bytes.
pub(super) fn number(payload: &[u8]) -> Option<u32> {
    payload.first_chunk().map(|bytes| u32::from_be_bytes(*bytes) & 0x7fff_ffff)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_reads_back_without_its_reserved_bit() {
        let header = FrameHeader { length: 0x01_02_03, kind: 9, flags: 4, stream: 0x7fff_fffe };
        assert_eq!(FrameHeader::read(&header.bytes()), Some(header));
        let reserved = FrameHeader { stream: 0xffff_fffe, ..header };
        assert_eq!(FrameHeader::read(&reserved.bytes()), Some(header));
        assert_eq!(FrameHeader::read(&header.bytes()[..8]), None);
    }

    #[test]
    fn padding_may_fill_a_payload_and_not_more() {
        let header = FrameHeader { length: 3, kind: kind::DATA, flags: flag::PADDED, stream: 1 };
        assert_eq!(unpadded(header, &[1, b'a', 0]), Ok(1..2));
        assert_eq!(unpadded(header, &[2, 0, 0]), Ok(1..1));
        assert_eq!(unpadded(header, &[3, 0, 0]), Err(ErrorCode::Protocol));
        assert_eq!(unpadded(header, &[]), Err(ErrorCode::FrameSize));
        assert_eq!(unpadded(FrameHeader { flags: 0, ..header }, &[9, 9]), Ok(0..2));
    }
}
