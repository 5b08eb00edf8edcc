//! HTTP/3 frames (RFC 9114 §7) and variable-length integers (RFC 9000 §16).

/// Frame types.
pub(super) mod kind {
    pub(in super::super) const DATA: u64 = 0x0;
    pub(in super::super) const HEADERS: u64 = 0x1;
    pub(in super::super) const CANCEL_PUSH: u64 = 0x3;
    pub(in super::super) const SETTINGS: u64 = 0x4;
    pub(in super::super) const PUSH_PROMISE: u64 = 0x5;
    pub(in super::super) const GOAWAY: u64 = 0x7;
    pub(in super::super) const MAX_PUSH_ID: u64 = 0xd;
    /// Type of the frame that sets the priority of the response on a request stream (RFC 9218 §7.2).
    pub(in super::super) const PRIORITY_UPDATE: u64 = 0xf_0700;

    /// Returns whether a frame type is one of HTTP/2 that HTTP/3 forbids (RFC 9114 §7.2.8).
    pub(in super::super) fn is_http2(kind: u64) -> bool {
        matches!(kind, 0x2 | 0x6 | 0x8 | 0x9)
    }
}

/// Parses a QUIC variable-length integer and removes it from `input`. If it is incomplete, returns `None` and removes
/// nothing.
pub(super) fn read_integer(input: &mut &[u8]) -> Option<u64> {
    let first = *input.first()?;
    let length = 1_usize << (first >> 6);
    let (bytes, rest) = input.split_at_checked(length)?;
    let value = bytes[1..].iter().fold(u64::from(first & 0x3f), |value, byte| value << 8 | u64::from(*byte));
    *input = rest;
    Some(value)
}

/// Appends a QUIC variable-length integer, which must be at most 2⁶²-1.
pub(super) fn write_integer(out: &mut Vec<u8>, value: u64) {
    match value {
        0..=0x3f => out.push(value as u8),
        0x40..=0x3fff => out.extend_from_slice(&(value as u16 | 0x4000).to_be_bytes()),
        0x4000..=0x3fff_ffff => out.extend_from_slice(&(value as u32 | 0x8000_0000).to_be_bytes()),
        _ => out.extend_from_slice(&(value | 0xc000_0000_0000_0000).to_be_bytes()),
    }
}

/// Appends the header of an HTTP/3 frame: its type `kind` and the length of its payload.
pub(super) fn write_head(out: &mut Vec<u8>, kind: u64, length: usize) {
    write_integer(out, kind);
    write_integer(out, length as u64);
}

/// Incremental parser of the type and length of a frame.
#[derive(Clone, Debug, Default)]
pub(super) struct FrameHeadReader {
    bytes: [u8; 16],
    length: usize,
}

/// Header of an HTTP/3 frame: type and length of the payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FrameHead {
    pub(super) kind: u64,
    pub(super) length: u64,
}

impl FrameHeadReader {
    /// Returns whether the type and length of a frame have been read partially.
    pub(super) fn has_started(&self) -> bool {
        self.length > 0
    }

    /// Consumes `input` up to the end of the type and length of a frame, and returns them; `None` if more input is
    /// needed.
    pub(super) fn read(&mut self, input: &mut &[u8]) -> Option<FrameHead> {
        if self.length == 0 {
            // Fast path: most heads arrive in one piece.
            let mut rest = *input;
            if let Some(head) = Self::parse(&mut rest) {
                *input = rest;
                return Some(head);
            }
        }
        while let Some((byte, rest)) = input.split_first() {
            *input = rest;
            self.bytes[self.length] = *byte;
            self.length += 1;
            // Two integers have at most 16 bytes, so the buffer cannot overflow.
            if let Some(head) = Self::parse(&mut &self.bytes[..self.length]) {
                self.length = 0;
                return Some(head);
            }
        }
        None
    }

    fn parse(input: &mut &[u8]) -> Option<FrameHead> {
        Some(FrameHead { kind: read_integer(input)?, length: read_integer(input)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_of_the_rfc_read_both_ways() {
        // RFC 9000 §A.1.
        let examples: [(u64, &[u8]); 4] = [
            (151_288_809_941_952_652, &[0xc2, 0x19, 0x7c, 0x5e, 0xff, 0x14, 0xe8, 0x8c]),
            (494_878_333, &[0x9d, 0x7f, 0x3e, 0x7d]),
            (15_293, &[0x7b, 0xbd]),
            (37, &[0x25]),
        ];
        for (value, bytes) in examples {
            let mut out = Vec::new();
            write_integer(&mut out, value);
            assert_eq!(out, bytes);
            assert_eq!(read_integer(&mut &out[..]), Some(value));
            for length in 0..bytes.len() {
                assert_eq!(read_integer(&mut &bytes[..length]), None);
            }
        }
        assert_eq!(read_integer(&mut &[0x40, 0x25][..]), Some(37));
    }

    #[test]
    fn a_head_is_read_however_it_is_cut() {
        let mut bytes = Vec::new();
        write_head(&mut bytes, kind::PRIORITY_UPDATE, 70_000);
        for cut in 0..=bytes.len() {
            let mut reader = FrameHeadReader::default();
            let mut rest = &bytes[..cut];
            let early = reader.read(&mut rest);
            let mut rest = &bytes[cut..];
            let head = early.or_else(|| reader.read(&mut rest)).expect("a head");
            assert_eq!(head, FrameHead { kind: kind::PRIORITY_UPDATE, length: 70_000 });
        }
    }
}
