//! HTTP/3 control stream of the client (RFC 9114 §6.2.1), and contents of the server's control stream.

use super::error::{Http3Error, Http3ErrorCode};
use super::frame::{FrameHead, FrameHeadReader, kind, read_integer, write_head, write_integer};
use super::qpack::{MAX_BLOCKED_STREAMS, MAX_TABLE_CAPACITY};
use crate::h2::Priority;

/// Maximum length in bytes of the payload of a frame on the control stream; frames that have an effect are far shorter.
const MOST: u64 = 4096;
/// Identifiers of settings (RFC 9114 §7.2.4.1, RFC 9204 §5).
mod setting {
    pub(super) const QPACK_MAX_TABLE_CAPACITY: u64 = 0x1;
    pub(super) const MAX_FIELD_SECTION_SIZE: u64 = 0x6;
    pub(super) const QPACK_BLOCKED_STREAMS: u64 = 0x7;
}
/// Maximum number of frames that a client may send on its HTTP/3 control stream. Few have an effect, so more frames are
/// treated as an attack.
const PATIENCE: u32 = 10_000;

/// Returns the first bytes of the server's unidirectional streams: control, encoder and decoder stream, in this order.
///
/// The `SETTINGS` announce a maximum field section of `field_section` bytes, and a dynamic table. Nothing else is ever
/// sent on the encoder stream.
pub fn server_stream_prefaces(field_section: usize) -> [Vec<u8>; 3] {
    let mut settings = Vec::new();
    for (id, value) in [
        (setting::QPACK_MAX_TABLE_CAPACITY, MAX_TABLE_CAPACITY),
        (setting::MAX_FIELD_SECTION_SIZE, field_section),
        (setting::QPACK_BLOCKED_STREAMS, MAX_BLOCKED_STREAMS),
    ] {
        write_integer(&mut settings, id);
        write_integer(&mut settings, value as u64);
    }
    let mut control = vec![0];
    write_head(&mut control, kind::SETTINGS, settings.len());
    control.extend_from_slice(&settings);
    [control, vec![2], vec![3]]
}

/// Encodes a `GOAWAY` frame, which announces that requests on `stream` and higher streams are not processed (RFC 9114
/// §5.2).
pub fn goaway(stream: u64) -> Vec<u8> {
    let mut id = Vec::new();
    write_integer(&mut id, stream);
    let mut out = Vec::new();
    write_head(&mut out, kind::GOAWAY, id.len());
    out.extend_from_slice(&id);
    out
}

/// Event in the input of the client's HTTP/3 control stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ControlEvent {
    /// More bytes are needed.
    Partial,
    /// `PRIORITY_UPDATE`: the client set the priority of the response on this request stream (RFC 9218 §7.2).
    Priority(u64, Priority),
}

/// Parser of the client's control stream.
#[derive(Debug, Default)]
pub(super) struct ControlReader {
    head: FrameHeadReader,
    frame: Option<FrameHead>,
    payload: Vec<u8>,
    settled: bool,
    frames: u32,
}

impl ControlReader {
    pub(super) fn receive(&mut self, input: &mut &[u8]) -> Result<ControlEvent, Http3Error> {
        loop {
            let frame = match self.frame {
                Some(frame) => frame,
                None => match self.head.read(input) {
                    None => return Ok(ControlEvent::Partial),
                    Some(frame) => {
                        self.begin(frame)?;
                        *self.frame.insert(frame)
                    }
                },
            };
            let wanted = frame.length as usize - self.payload.len();
            let (taken, rest) = input.split_at(wanted.min(input.len()));
            *input = rest;
            self.payload.extend_from_slice(taken);
            if taken.len() < wanted {
                return Ok(ControlEvent::Partial);
            }
            self.frame = None;
            let payload = std::mem::take(&mut self.payload);
            if let Some(control) = end(frame.kind, &payload)? {
                return Ok(control);
            }
        }
    }

    fn begin(&mut self, frame: FrameHead) -> Result<(), Http3Error> {
        self.frames += 1;
        if self.frames > PATIENCE {
            return Err(Http3Error::connection(Http3ErrorCode::ExcessiveLoad, "too many control frames"));
        }
        match (frame.kind, self.settled) {
            (kind::SETTINGS, false) => self.settled = true,
            (kind::SETTINGS, true) => {
                return Err(Http3Error::connection(Http3ErrorCode::FrameUnexpected, "second SETTINGS"));
            }
            (_, false) => {
                return Err(Http3Error::connection(
                    Http3ErrorCode::MissingSettings,
                    "first frame is not SETTINGS",
                ));
            }
            (kind::DATA | kind::HEADERS | kind::PUSH_PROMISE, _) => {
                return Err(Http3Error::connection(
                    Http3ErrorCode::FrameUnexpected,
                    "request frame on the control stream",
                ));
            }
            (other, _) if kind::is_http2(other) => {
                return Err(Http3Error::connection(
                    Http3ErrorCode::FrameUnexpected,
                    "frame type reserved for HTTP/2",
                ));
            }
            _ => {}
        }
        if frame.length > MOST {
            return Err(Http3Error::connection(Http3ErrorCode::ExcessiveLoad, "control frame too large"));
        }
        Ok(())
    }
}

/// Processes a complete frame of type `kind`, and returns its event, if any.
fn end(kind: u64, mut payload: &[u8]) -> Result<Option<ControlEvent>, Http3Error> {
    match kind {
        kind::SETTINGS => check_settings(payload)?,
        kind::GOAWAY | kind::MAX_PUSH_ID => {
            read_integer(&mut payload).filter(|_| payload.is_empty()).ok_or_else(frame_error)?;
        }
        // The server never pushes, so there is no push to cancel.
        kind::CANCEL_PUSH => {
            return Err(Http3Error::connection(Http3ErrorCode::Id, "CANCEL_PUSH for an unknown push"));
        }
        kind::PRIORITY_UPDATE => {
            let stream = read_integer(&mut payload).ok_or_else(frame_error)?;
            if stream % 4 != 0 {
                return Err(Http3Error::connection(
                    Http3ErrorCode::Id,
                    "PRIORITY_UPDATE for a stream that is not a request",
                ));
            }
            return Ok(Some(ControlEvent::Priority(stream, Priority::parse(payload))));
        }
        _ => {}
    }
    Ok(None)
}

fn frame_error() -> Http3Error {
    Http3Error::connection(Http3ErrorCode::Frame, "frame length does not match its content")
}

/// Checks the settings of a client. Their values have no effect here, but reserved and repeated settings are errors
/// (RFC 9114 §7.2.4.1), and so are more than 64 settings.
fn check_settings(mut payload: &[u8]) -> Result<(), Http3Error> {
    let bad = || Http3Error::connection(Http3ErrorCode::Settings, "invalid SETTINGS");
    let mut seen = Vec::new();
    while !payload.is_empty() {
        let id = read_integer(&mut payload).ok_or_else(frame_error)?;
        read_integer(&mut payload).ok_or_else(frame_error)?;
        if matches!(id, 0x2..=0x5) || seen.contains(&id) || seen.len() == 64 {
            return Err(bad());
        }
        seen.push(id);
    }
    Ok(())
}
