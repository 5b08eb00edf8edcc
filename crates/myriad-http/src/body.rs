//! Message bodies, from which the consumer pulls data.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;

/// Message body that is read piece by piece.
pub trait Body {
    /// Returns the next piece, `None` once the body is complete, or an error if the body cannot be completed.
    ///
    /// Pieces are not empty. A body must not be polled again after `None` or an error.
    fn poll_data(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>>;

    /// Returns the exact number of remaining bytes; `None` if it is unknown.
    fn size_hint(&self) -> Option<u64>;

    /// Skips up to `_bytes` bytes if that is cheaper than reading them. Returns the number of bytes skipped; the
    /// default implementation skips none.
    fn skip(self: Pin<&mut Self>, _bytes: u64) -> u64 {
        0
    }
}

/// Boxed body of any type. A body stays on the thread of its connection, so the type need not be `Send`.
pub type BoxBody = Pin<Box<dyn Body>>;

/// Reason why a body could not be received or sent completely.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BodyError {
    /// The body is incomplete. For example, the sender closed the connection or reset the stream, a file is shorter
    /// than announced, or another request whose response is part of the body failed.
    Aborted,
    /// The client sent nothing of the request body for `client_body_timeout`, or sent it more slowly than
    /// `client_min_rate`. A timeout of an origin is [`BodyError::Origin`].
    Timeout,
    /// The framing of the body is invalid (RFC 9112 §7), or in HTTP/2 and HTTP/3 its length differs from the announced
    /// one.
    Malformed(crate::ParseError),
    /// The body exceeds a limit of this server (`client_max_body_size`).
    TooLarge,
    /// A local operation failed, such as reading a file, or the body is longer than announced. The text is for the
    /// error log.
    Io(String),
    /// The origin failed, or its body is invalid, such as a gzip body that cannot be decoded. The text is for the error
    /// log.
    Origin(String),
}

impl BodyError {
    /// Returns the status of the error response, for use if no response head was sent yet.
    pub fn status(&self) -> u16 {
        match self {
            Self::Aborted => 400,
            Self::Timeout => 408,
            Self::Malformed(error) => error.status(),
            Self::TooLarge => 413,
            Self::Io(_) => 500,
            Self::Origin(_) => 502,
        }
    }
}

impl fmt::Display for BodyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Aborted => f.write_str("the body ended before it was complete"),
            Self::Timeout => f.write_str("the body timed out"),
            Self::Malformed(error) => write!(f, "malformed body: {error}"),
            Self::TooLarge => f.write_str("the body is too large"),
            Self::Io(text) | Self::Origin(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for BodyError {}

/// Body without any data.
#[derive(Clone, Copy, Debug, Default)]
pub struct EmptyBody;

impl Body for EmptyBody {
    fn poll_data(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        Poll::Ready(None)
    }

    fn size_hint(&self) -> Option<u64> {
        Some(0)
    }
}

/// Body that is entirely in memory.
#[derive(Clone, Debug, Default)]
pub struct FullBody(Bytes);

impl FullBody {
    /// Creates a body of `bytes`.
    pub fn new(bytes: impl Into<Bytes>) -> Self {
        Self(bytes.into())
    }

    /// Returns the part of the body that has not been read yet.
    pub fn into_bytes(self) -> Bytes {
        self.0
    }
}

impl Body for FullBody {
    fn poll_data(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        let bytes = std::mem::take(&mut self.get_mut().0);
        Poll::Ready(if bytes.is_empty() { None } else { Some(Ok(bytes)) })
    }

    fn size_hint(&self) -> Option<u64> {
        Some(self.0.len() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pull(body: &mut BoxBody) -> Option<Result<Bytes, BodyError>> {
        match body.as_mut().poll_data(&mut Context::from_waker(std::task::Waker::noop())) {
            Poll::Ready(piece) => piece,
            Poll::Pending => panic!("a body in memory never waits"),
        }
    }

    #[test]
    fn a_full_body_yields_its_bytes_once() {
        let mut body: BoxBody = Box::pin(FullBody::new(&b"hello"[..]));
        assert_eq!(body.size_hint(), Some(5));
        assert_eq!(pull(&mut body), Some(Ok(Bytes::from_static(b"hello"))));
        assert_eq!(body.size_hint(), Some(0));
        assert_eq!(pull(&mut body), None);
    }

    #[test]
    fn an_empty_body_is_complete_at_once() {
        let mut empty: BoxBody = Box::pin(EmptyBody);
        let mut nothing: BoxBody = Box::pin(FullBody::default());
        assert_eq!((pull(&mut empty), empty.size_hint()), (None, Some(0)));
        assert_eq!((pull(&mut nothing), nothing.size_hint()), (None, Some(0)));
    }
}
