//! Why a connection or a stream ends (RFC 9113 §7).

use std::fmt;

use super::hpack::DecodeError;

/// An error code of `RST_STREAM` and `GOAWAY`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum ErrorCode {
    /// `NO_ERROR`: the end is no error.
    NoError = 0,
    /// `PROTOCOL_ERROR`: anything that no other code names.
    Protocol = 1,
    /// `INTERNAL_ERROR`: the fault is on this side.
    Internal = 2,
    /// `FLOW_CONTROL_ERROR`: more was sent than a window allowed, or a window grew beyond 2³¹-1.
    FlowControl = 3,
    /// `STREAM_CLOSED`: a frame on a stream that its sender had ended.
    StreamClosed = 5,
    /// `FRAME_SIZE_ERROR`: a frame of a size that its type cannot have.
    FrameSize = 6,
    /// `REFUSED_STREAM`: nothing of the request was done; it may be sent again.
    RefusedStream = 7,
    /// `CANCEL`: the stream is not wanted any more.
    Cancel = 8,
    /// `COMPRESSION_ERROR`: the header compression of the connection is out of step.
    Compression = 9,
    /// `ENHANCE_YOUR_CALM`: the client costs more than it is served.
    EnhanceYourCalm = 11,
}

/// The connection cannot go on: send what is in the output (a `GOAWAY` is), then close.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionError {
    /// The code that the other side is told.
    pub code: ErrorCode,
    /// What is wrong, for the error log.
    pub reason: &'static str,
}

impl ConnectionError {
    pub(super) fn new(code: ErrorCode, reason: &'static str) -> Self {
        Self { code, reason }
    }

    pub(super) fn protocol(reason: &'static str) -> Self {
        Self::new(ErrorCode::Protocol, reason)
    }
}

impl fmt::Display for ConnectionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.reason)
    }
}

impl std::error::Error for ConnectionError {}

/// What a header block that cannot be read means for the connection (RFC 9113 §4.3).
pub(super) fn compression(error: DecodeError) -> ConnectionError {
    match error {
        DecodeError::Broken => ConnectionError::new(ErrorCode::Compression, "invalid header block"),
        DecodeError::TooLarge => ConnectionError::new(ErrorCode::EnhanceYourCalm, "header too large"),
    }
}
