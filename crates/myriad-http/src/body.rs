//! Message bodies: pulled by whoever sends or stores them, never pushed.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;

/// A body that is pulled piece by piece.
pub trait Body {
    /// The next piece; `None` once the body is complete, and an error instead of a piece when it will never be.
    ///
    /// Pieces are not empty. After `None` or an error the body is not polled again.
    fn poll_data(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>>;

    /// The exact number of bytes that are still to come, where it is known.
    fn size_hint(&self) -> Option<u64>;

    /// Passes over up to so many bytes without giving them, where that is cheaper; how many it passed.
    fn skip(self: Pin<&mut Self>, _bytes: u64) -> u64 {
        0
    }
}

/// A body of any kind, on the heap; bodies stay on the thread of their connection, so it need not be `Send`.
pub type BoxBody = Pin<Box<dyn Body>>;

/// Why a body ended before it was complete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BodyError {
    /// Whoever sent the body went away.
    Aborted,
    /// No byte came, or none could be sent, within the time allowed (`client_body_timeout`, `*_read_timeout`).
    Timeout,
    /// The framing of the body is broken (RFC 9112 §7).
    Malformed(crate::ParseError),
    /// The body is larger than the receiver takes (`client_max_body_size`).
    TooLarge,
    /// Reading failed on this machine; the text is for the error log.
    Io(String),
    /// The origin failed; the text is for the error log.
    Origin(String),
}

impl BodyError {
    /// The status to answer where no head was sent yet.
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
            Self::Aborted => f.write_str("the sender closed the connection before the body was complete"),
            Self::Timeout => f.write_str("the body timed out"),
            Self::Malformed(error) => write!(f, "malformed body: {error}"),
            Self::TooLarge => f.write_str("the body is too large"),
            Self::Io(text) | Self::Origin(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for BodyError {}

/// A body of no bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Empty;

impl Body for Empty {
    fn poll_data(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        Poll::Ready(None)
    }

    fn size_hint(&self) -> Option<u64> {
        Some(0)
    }
}

/// A body that is wholly in memory.
#[derive(Clone, Debug, Default)]
pub struct Full(Bytes);

impl Full {
    /// A body of these bytes.
    pub fn new(bytes: impl Into<Bytes>) -> Self {
        Self(bytes.into())
    }

    /// The bytes that were not pulled yet.
    pub fn into_bytes(self) -> Bytes {
        self.0
    }
}

impl Body for Full {
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
        let mut body: BoxBody = Box::pin(Full::new(&b"hello"[..]));
        assert_eq!(body.size_hint(), Some(5));
        assert_eq!(pull(&mut body), Some(Ok(Bytes::from_static(b"hello"))));
        assert_eq!(body.size_hint(), Some(0));
        assert_eq!(pull(&mut body), None);
    }

    #[test]
    fn an_empty_body_is_complete_at_once() {
        let mut empty: BoxBody = Box::pin(Empty);
        let mut nothing: BoxBody = Box::pin(Full::default());
        assert_eq!((pull(&mut empty), empty.size_hint()), (None, Some(0)));
        assert_eq!((pull(&mut nothing), nothing.size_hint()), (None, Some(0)));
    }
}
