//! Errors of HTTP/3 streams and connections (RFC 9114 §8.1, RFC 9204 §6).

use std::fmt;

/// Error code of HTTP/3 or QPACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u64)]
pub enum Http3ErrorCode {
    /// `H3_NO_ERROR`: normal close, without an error.
    NoError = 0x100,
    /// Violation of a protocol rule without a more specific code.
    GeneralProtocol = 0x101,
    /// Internal error of the server.
    Internal = 0x102,
    /// The client opened a stream that is not accepted.
    StreamCreation = 0x103,
    /// A stream that the connection needs was closed.
    ClosedCriticalStream = 0x104,
    /// The type of a frame is not allowed at this point.
    FrameUnexpected = 0x105,
    /// `H3_FRAME_ERROR`: a frame is malformed or truncated.
    Frame = 0x106,
    /// The client generates excessive load.
    ExcessiveLoad = 0x107,
    /// `H3_ID_ERROR`: an identifier of a stream or push is invalid.
    Id = 0x108,
    /// `H3_SETTINGS_ERROR`: the payload of a `SETTINGS` frame is invalid.
    Settings = 0x109,
    /// The first frame of the control stream is not `SETTINGS`.
    MissingSettings = 0x10a,
    /// The request was not processed, so it may be sent again.
    RequestRejected = 0x10b,
    /// The request or its response is cancelled.
    RequestCancelled = 0x10c,
    /// The stream was closed before the request was complete.
    RequestIncomplete = 0x10d,
    /// `H3_MESSAGE_ERROR`: an HTTP message is malformed.
    Message = 0x10e,
    /// A field section cannot be decoded.
    QpackDecompression = 0x200,
    /// The client's encoder stream is invalid.
    QpackEncoderStream = 0x201,
    /// The client's decoder stream is invalid.
    QpackDecoderStream = 0x202,
}

impl Http3ErrorCode {
    /// Returns the numeric code.
    pub fn number(self) -> u64 {
        self as u64
    }
}

/// Part of a connection that an error terminates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorScope {
    /// Only the stream on which the error occurred.
    Stream,
    /// The connection with all its streams.
    Connection,
}

/// Violation of a protocol rule by a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Http3Error {
    /// Part of the connection that must be terminated.
    pub scope: ErrorScope,
    /// Error code sent to the client.
    pub code: Http3ErrorCode,
    /// Description of the violation, sent to the client and logged.
    pub reason: &'static str,
}

impl Http3Error {
    /// Creates an error that terminates the connection.
    pub(super) fn connection(code: Http3ErrorCode, reason: &'static str) -> Self {
        Self { scope: ErrorScope::Connection, code, reason }
    }

    /// Creates an error that terminates the stream.
    pub(super) fn stream(code: Http3ErrorCode, reason: &'static str) -> Self {
        Self { scope: ErrorScope::Stream, code, reason }
    }
}

impl fmt::Display for Http3Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.reason)
    }
}

impl std::error::Error for Http3Error {}
