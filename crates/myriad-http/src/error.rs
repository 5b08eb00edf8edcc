//! What can be wrong with a message, each with the rule that it breaks.

use std::fmt;

/// A message broke a rule; the connection that it came on cannot be read any further and must close.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ParseError {
    /// The method holds something else than upper-case letters, `-` and `_` (nginx's reading of RFC 9110 §9.1), or is as
    /// long as a whole request line may be.
    InvalidMethod,
    /// The target is none of the forms of RFC 9112 §3.2, or holds a space or a control byte.
    InvalidTarget,
    /// The request line does not end in `HTTP/` digit `.` digit (RFC 9112 §2.3); nginx's larger numbers count as well.
    InvalidVersion,
    /// A request line without a version: HTTP/0.9 is not spoken.
    Http09,
    /// The major version is 2 or above (RFC 9110 §15.6.6).
    UnsupportedVersion,
    /// The request line does not fit in one buffer (`large_client_header_buffers`; RFC 9110 §15.5.15).
    RequestLineTooLong,
    /// A field line does not fit in one buffer, or the head not in all of them (`large_client_header_buffers`).
    HeaderTooLarge,
    /// There are more fields than `max_headers` allows.
    TooManyFields,
    /// A control byte, or NUL, in a field (RFC 9110 §5.5).
    ControlByte,
    /// A carriage return that no line feed follows (RFC 9112 §2.2).
    BareCarriageReturn,
    /// A field line whose name is no token: none, or with white space in it or before its colon (RFC 9112 §5.1).
    InvalidFieldName,
    /// A field line without a colon (RFC 9112 §5).
    MissingColon,
    /// A line that begins with white space, which once continued the field before it (RFC 9112 §5.2).
    ObsoleteFold,
    /// An HTTP/1.1 request without `Host` (RFC 9112 §3.2).
    MissingHost,
    /// `Host` is not a host and port (RFC 9110 §7.2).
    InvalidHost,
    /// A field that has one value was sent twice, `Host` or `Content-Length` for instance (RFC 9110 §5.3).
    RepeatedField,
    /// A `Host` that says something else than `:authority`.
    HostMismatch,
    /// Both `Content-Length` and `Transfer-Encoding` (RFC 9112 §6.3, rule 3).
    LengthAndEncoding,
    /// `Content-Length` is not a decimal number below 2⁶³ (RFC 9110 §8.6).
    InvalidLength,
    /// `Transfer-Encoding` is not exactly `chunked` (RFC 9112 §6.1).
    UnknownTransferEncoding,
    /// `Transfer-Encoding` names known codings, `chunked` among them and not as the last: where the body ends cannot be told (RFC 9112 §6.3).
    ChunkedNotLast,
    /// `Transfer-Encoding` in HTTP/1.0 (RFC 9112 §6.1).
    TransferEncodingInHttp10,
    /// A chunk does not begin with a hexadecimal size below 2⁶³ (RFC 9112 §7.1).
    InvalidChunkSize,
    /// A line of the chunked coding ends in a bare LF, or chunk data does not end in CRLF (RFC 9112 §7.1).
    InvalidChunkEnd,
    /// A chunk extension is longer than the decoder's bound or not of the grammar (RFC 9112 §7.1.1).
    InvalidChunkExtension,
    /// The trailer section is larger than the decoder's bound (RFC 9112 §7.1.2).
    TrailerTooLarge,
    /// A pseudo-field is missing, unknown, repeated, behind other fields or no such thing (RFC 9113 §8.3).
    InvalidPseudoField,
    /// A field that is about a connection of HTTP/1 (RFC 9113 §8.2.2).
    ConnectionField,
    /// The status line of a response is none (RFC 9112 §4).
    InvalidStatusLine,
}

impl ParseError {
    /// The status to answer a request with; a proxy answers 502 to whatever is wrong with a response.
    pub fn status(self) -> u16 {
        match self {
            Self::RequestLineTooLong => 414,
            Self::UnknownTransferEncoding => 501,
            Self::UnsupportedVersion => 505,
            Self::InvalidStatusLine => 502,
            _ => 400,
        }
    }

    /// The code by which `error_page` knows the error: nginx's own 494 for a head that is too large, which is sent
    /// as 400 "Request Header Or Cookie Too Large"; else [`ParseError::status`].
    pub fn error_page_code(self) -> u16 {
        match self {
            Self::HeaderTooLarge | Self::TooManyFields => 494,
            other => other.status(),
        }
    }

    /// What is wrong, for the error log.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::InvalidMethod => "invalid method",
            Self::InvalidTarget => "invalid request target",
            Self::InvalidVersion => "invalid version in the request line",
            Self::Http09 => "request line without a version",
            Self::UnsupportedVersion => "unsupported HTTP version",
            Self::RequestLineTooLong => "request line too long",
            Self::HeaderTooLarge => "header too large",
            Self::TooManyFields => "too many header fields",
            Self::ControlByte => "control byte in a header field",
            Self::BareCarriageReturn => "carriage return without line feed",
            Self::InvalidFieldName => "invalid header field name",
            Self::MissingColon => "header line without a colon",
            Self::ObsoleteFold => "header line that begins with white space",
            Self::MissingHost => "HTTP/1.1 request without \"Host\"",
            Self::InvalidHost => "invalid \"Host\"",
            Self::RepeatedField => "repeated header field that may have one value",
            Self::HostMismatch => "\"Host\" that is not its \":authority\"",
            Self::LengthAndEncoding => "both \"Content-Length\" and \"Transfer-Encoding\"",
            Self::InvalidLength => "invalid \"Content-Length\"",
            Self::ChunkedNotLast => "\"Transfer-Encoding\" whose last coding is not \"chunked\"",
            Self::UnknownTransferEncoding => "unknown \"Transfer-Encoding\"",
            Self::TransferEncodingInHttp10 => "\"Transfer-Encoding\" in HTTP/1.0",
            Self::InvalidChunkSize => "invalid chunk size",
            Self::InvalidChunkEnd => "chunk line or data without CRLF",
            Self::InvalidChunkExtension => "invalid chunk extension",
            Self::TrailerTooLarge => "trailer section too large",
            Self::InvalidPseudoField => "missing or invalid pseudo-header field",
            Self::ConnectionField => "header field that is about a connection",
            Self::InvalidStatusLine => "invalid status line",
        }
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl std::error::Error for ParseError {}
