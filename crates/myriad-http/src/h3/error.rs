//! What ends a stream or a connection, by its number (RFC 9114 §8.1, RFC 9204 §6).

use std::fmt;

/// An error code of HTTP/3 or QPACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u64)]
pub enum Code {
    /// Nothing is wrong.
    NoError = 0x100,
    /// A rule was broken for which there is no code of its own.
    GeneralProtocol = 0x101,
    /// Something went wrong on this machine.
    Internal = 0x102,
    /// The client opened a stream that is not wanted.
    StreamCreation = 0x103,
    /// A stream that the connection needs was closed.
    ClosedCriticalStream = 0x104,
    /// A frame has no place where it came.
    FrameUnexpected = 0x105,
    /// A frame is no such frame, or was cut short.
    Frame = 0x106,
    /// The client makes work that leads nowhere.
    ExcessiveLoad = 0x107,
    /// A number of a stream or push makes no sense.
    Id = 0x108,
    /// A setting is no such setting.
    Settings = 0x109,
    /// The control stream does not begin with `SETTINGS`.
    MissingSettings = 0x10a,
    /// The request was not looked at.
    RequestRejected = 0x10b,
    /// The answer is not wanted, or not made, any more.
    RequestCancelled = 0x10c,
    /// The stream ended before the request was complete.
    RequestIncomplete = 0x10d,
    /// The message is malformed.
    Message = 0x10e,
    /// A header block cannot be read.
    QpackDecompression = 0x200,
    /// The client's encoder stream makes no sense.
    QpackEncoderStream = 0x201,
    /// The client's decoder stream makes no sense.
    QpackDecoderStream = 0x202,
}

impl Code {
    /// The number that is sent.
    pub fn number(self) -> u64 {
        self as u64
    }
}

/// What an error ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The stream alone.
    Stream,
    /// The connection with all its streams.
    Connection,
}

/// A client broke a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Error {
    /// What it ends.
    pub scope: Scope,
    /// What the client is told.
    pub code: Code,
    /// What was wrong, for the client and the log.
    pub reason: &'static str,
}

impl Error {
    /// An error that ends the connection.
    pub(super) fn connection(code: Code, reason: &'static str) -> Self {
        Self { scope: Scope::Connection, code, reason }
    }

    /// An error that ends the stream.
    pub(super) fn stream(code: Code, reason: &'static str) -> Self {
        Self { scope: Scope::Stream, code, reason }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.reason)
    }
}

impl std::error::Error for Error {}
