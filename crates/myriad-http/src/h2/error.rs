//! Errors of HTTP/2 connections and streams (RFC 9113 §7).

use std::fmt;

use super::hpack::HpackError;

/// Error code in `RST_STREAM` and `GOAWAY`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum ErrorCode {
    /// `NO_ERROR`: normal close, without an error.
    NoError = 0,
    /// `PROTOCOL_ERROR`: violation of a rule without a more specific code.
    Protocol = 1,
    /// `INTERNAL_ERROR`: error of the endpoint that sends the code.
    Internal = 2,
    /// `FLOW_CONTROL_ERROR`: more bytes than a window allows, or a window above 2³¹-1.
    FlowControl = 3,
    /// `STREAM_CLOSED`: a frame on a stream that its sender had closed.
    StreamClosed = 5,
    /// `FRAME_SIZE_ERROR`: a frame with an invalid size for its type.
    FrameSize = 6,
    /// `REFUSED_STREAM`: the request was not processed and may be sent again.
    RefusedStream = 7,
    /// `CANCEL`: the stream is no longer needed.
    Cancel = 8,
    /// `COMPRESSION_ERROR`: the state of the header compression is inconsistent.
    Compression = 9,
    /// `ENHANCE_YOUR_CALM`: the peer generates excessive load.
    EnhanceYourCalm = 11,
}

/// Error of an HTTP/2 connection. The last frame of the output is then a `GOAWAY`, and the connection must be closed
/// once the output is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionError {
    /// Error code sent to the peer.
    pub code: ErrorCode,
    /// Description for the error log.
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

/// Returns the connection error for a header block that cannot be decoded (RFC 9113 §4.3).
pub(super) fn compression(error: HpackError) -> ConnectionError {
    match error {
        HpackError::Broken => ConnectionError::new(ErrorCode::Compression, "invalid header block"),
        HpackError::TooLarge => ConnectionError::new(ErrorCode::EnhanceYourCalm, "header too large"),
    }
}
