//! Where a body ends, and whether the connection goes on (RFC 9112 §6.3, §9.3).

use crate::{Method, ParseError, RequestHead, ResponseHead};

/// How the body of a request is framed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// There is no body.
    None,
    /// So many bytes.
    Length(u64),
    /// The chunked coding.
    Chunked,
}

/// How the body of a response is framed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResponseFraming {
    /// There is no body, whatever the fields say: HEAD, 1xx, 204, 304.
    None,
    /// So many bytes.
    Length(u64),
    /// The chunked coding.
    Chunked,
    /// Everything until the connection closes.
    UntilClose,
}

/// The options of `Connection` fields that a proxy acts on (RFC 9110 §7.6.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConnectionOptions {
    /// `close`.
    pub close: bool,
    /// `keep-alive`.
    pub keep_alive: bool,
    /// `upgrade`.
    pub upgrade: bool,
}

/// How the body of `head` is framed; whatever two readers could read differently is an error (RFC 9112 §6.3).
pub fn request_framing(_head: &RequestHead) -> Result<Framing, ParseError> {
    Ok(Framing::None)
}

/// How the body of the response `head` to a request with `method` is framed (RFC 9112 §6.3); an error means 502.
pub fn response_framing(_head: &ResponseHead, _method: Method) -> Result<ResponseFraming, ParseError> {
    Ok(ResponseFraming::None)
}

/// The options in one `Connection` value.
pub fn connection_options(_value: &[u8]) -> ConnectionOptions {
    ConnectionOptions::default()
}

/// Whether the client wants the connection to go on after this exchange (RFC 9112 §9.3).
pub fn wants_keep_alive(_head: &RequestHead) -> bool {
    false
}

/// Whether the origin keeps the connection open after this response (RFC 9112 §9.3).
pub fn response_keeps_alive(_head: &ResponseHead) -> bool {
    false
}
