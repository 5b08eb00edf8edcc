//! Errors in HTTP messages, each with the protocol rule that the message violates.

use std::fmt;

/// Protocol rule that a message violates. An HTTP/1 connection must then be closed, because the start of the next
/// message is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ParseError {
    /// The method is empty, contains a character other than upper-case letters, `-` and `_` (nginx's rule, stricter
    /// than RFC 9110 §9.1), or is not terminated within the maximum length of a request line.
    InvalidMethod,
    /// The target has no form of RFC 9112 §3.2 that its method and HTTP version allow, or contains a space or a control
    /// byte, or an invalid host.
    InvalidTarget,
    /// `HTTP/` in the request line is not followed by number `.` number and the end of the line (RFC 9112 §2.3), or the
    /// major version is 0. Numbers have one digit; as in nginx, two without a leading zero are accepted.
    InvalidVersion,
    /// The request line has no version, as in HTTP/0.9, which is not supported.
    Http09,
    /// The major version is 2 or higher (RFC 9110 §15.6.6).
    UnsupportedVersion,
    /// The request line contains a space and exceeds the maximum length of a line: the size of one of
    /// `large_client_header_buffers`, or `client_header_buffer_size` if that is larger (RFC 9110 §15.5.15).
    RequestLineTooLong,
    /// A line, the whole head, or the empty lines before a request line exceed their size limit
    /// ([`HeadLimits`](crate::h1::HeadLimits), from `large_client_header_buffers`), or a field name has more than
    /// 65,535 bytes.
    HeaderTooLarge,
    /// The head has more fields than its limit allows: `max_headers` in requests, 1000 in responses.
    TooManyFields,
    /// A field contains NUL or another control byte except a tab in a value (RFC 9110 §5.5), or a trailer line of the
    /// chunked coding is terminated by LF instead of CRLF. In values of HTTP/1 responses, only NUL is an error.
    ControlByte,
    /// A carriage return without a line feed after it (RFC 9112 §2.2).
    BareCarriageReturn,
    /// The field name is not a token (RFC 9112 §5.1), for instance because it is empty or contains white space; or
    /// white space precedes the colon; or the name has an upper-case letter in HTTP/2 or HTTP/3. In HTTP/1 responses,
    /// only an empty name and white space are errors.
    InvalidFieldName,
    /// A field line of a request or trailer section has no colon (RFC 9112 §5). In responses, such lines are skipped.
    MissingColon,
    /// A line starts with white space: the obsolete continuation of the previous field (RFC 9112 §5.2).
    ObsoleteFold,
    /// A request of any version except HTTP/1.0 has no `Host` field, or in HTTP/2 and HTTP/3 neither it nor
    /// `:authority` (RFC 9112 §3.2).
    MissingHost,
    /// `Host` is not a valid host and port (RFC 9110 §7.2).
    InvalidHost,
    /// A field that may occur only once, such as `Host` or `Content-Length`, is repeated (RFC 9110 §5.3).
    RepeatedField,
    /// `Host` differs from `:authority` (HTTP/2, HTTP/3), ignoring case.
    HostMismatch,
    /// The message has both `Content-Length` and `Transfer-Encoding` (RFC 9112 §6.3, rule 3).
    LengthAndEncoding,
    /// `Content-Length` is not a decimal number below 2⁶³ (RFC 9110 §8.6), or differs from the length of the body in
    /// HTTP/2 or HTTP/3.
    InvalidLength,
    /// `Transfer-Encoding` is not exactly `chunked`, ignoring case (RFC 9112 §6.1), and [`ParseError::ChunkedNotLast`]
    /// does not apply.
    UnknownTransferEncoding,
    /// `Transfer-Encoding` lists known codings including `chunked`, but `chunked` is not the last: the length of the
    /// body cannot be determined (RFC 9112 §6.3).
    ChunkedNotLast,
    /// An HTTP/1.0 request has the field `Transfer-Encoding` (RFC 9112 §6.1).
    TransferEncodingInHttp10,
    /// A chunk does not start with a hexadecimal size below 2⁶³ (RFC 9112 §7.1).
    InvalidChunkSize,
    /// The line with a chunk size is not terminated by CRLF, or chunk data is not followed by CRLF (RFC 9112 §7.1).
    InvalidChunkEnd,
    /// A chunk extension violates the grammar (RFC 9112 §7.1.1), or extensions, padding and leading zeros of chunk
    /// sizes exceed the limit of the decoder.
    InvalidChunkExtension,
    /// The trailer section exceeds a limit of the decoder: its size or its number of fields (RFC 9112 §7.1.2).
    TrailerTooLarge,
    /// A pseudo-field is missing, unknown, repeated, malformed, or follows a regular field (RFC 9113 §8.3).
    InvalidPseudoField,
    /// An HTTP/2 or HTTP/3 message has a field that is specific to HTTP/1 connections, or a request has `TE` other than
    /// `trailers` (RFC 9113 §8.2.2).
    ConnectionField,
    /// The status line of a response (RFC 9112 §4), or `:status` of an HTTP/2 response, is malformed.
    InvalidStatusLine,
}

impl ParseError {
    /// Returns the status of the error response if the message is a request. For an invalid response of an origin, the
    /// status is 502 instead.
    pub fn status(self) -> u16 {
        match self {
            Self::RequestLineTooLong => 414,
            Self::UnknownTransferEncoding => 501,
            Self::UnsupportedVersion => 505,
            Self::InvalidStatusLine => 502,
            _ => 400,
        }
    }

    /// Returns the status by which `error_page` selects a page: nginx's 494 if the head is too large or has too many
    /// fields (sent to the client as 400 "Request Header Or Cookie Too Large"), otherwise [`ParseError::status`].
    pub fn error_page_code(self) -> u16 {
        match self {
            Self::HeaderTooLarge | Self::TooManyFields => 494,
            other => other.status(),
        }
    }

    /// Returns a description of the error for the error log.
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
            Self::ObsoleteFold => "header line that starts with white space",
            Self::MissingHost => "request without \"Host\"",
            Self::InvalidHost => "invalid \"Host\"",
            Self::RepeatedField => "repeated header field that allows only one value",
            Self::HostMismatch => "\"Host\" and \":authority\" differ",
            Self::LengthAndEncoding => "both \"Content-Length\" and \"Transfer-Encoding\"",
            Self::InvalidLength => "invalid \"Content-Length\"",
            Self::ChunkedNotLast => "\"Transfer-Encoding\" whose last coding is not \"chunked\"",
            Self::UnknownTransferEncoding => "unknown \"Transfer-Encoding\"",
            Self::TransferEncodingInHttp10 => "\"Transfer-Encoding\" in HTTP/1.0",
            Self::InvalidChunkSize => "invalid chunk size",
            Self::InvalidChunkEnd => "chunk line or data without CRLF",
            Self::InvalidChunkExtension => "invalid chunk extension, or excessive padding of chunk sizes",
            Self::TrailerTooLarge => "trailer section too large",
            Self::InvalidPseudoField => "missing or invalid pseudo-header field",
            Self::ConnectionField => "connection-specific header field",
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
