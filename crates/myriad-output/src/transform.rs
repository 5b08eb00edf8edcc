//! Streaming transformation of a body.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use myriad_http::body::{Body, BodyError, BoxBody};

/// Number of output bytes after which a body transformation should return. It bounds the memory that a client can make
/// a worker use.
pub(crate) const WINDOW: usize = 64 << 10;

/// Transformation of a response body (compression, text replacement and others), piece by piece. It buffers a bounded
/// number of bytes.
pub(crate) trait Transform {
    /// Consumes bytes of `input`, and appends their transformation to `out`. Should return once `out` has [`WINDOW`]
    /// bytes. Returns true if `input` is consumed and no more output is possible without another piece.
    fn push(&mut self, input: &mut &[u8], out: &mut Vec<u8>) -> Result<bool, BodyError>;

    /// Flushes available output; called when the source of the body pauses.
    fn pause(&mut self, _out: &mut Vec<u8>) -> Result<(), BodyError> {
        Ok(())
    }

    /// Appends the remaining output; called when the source is complete.
    fn finish(&mut self, out: &mut Vec<u8>) -> Result<(), BodyError>;

    /// Returns whether all further bytes pass unchanged, so that pieces need not be copied.
    fn is_idle(&self) -> bool {
        false
    }
}

/// Returns a body that yields the output of `transform` for the bytes of `body`.
pub(crate) fn transformed(body: BoxBody, transform: impl Transform + 'static) -> BoxBody {
    Box::pin(TransformedBody {
        body,
        transform,
        input: Bytes::new(),
        drained: true,
        fed: false,
        is_complete: false,
    })
}

struct TransformedBody<T> {
    body: BoxBody,
    transform: T,
    /// Input bytes that the transformation has not consumed.
    input: Bytes,
    /// Set if no more output is possible without another piece of input.
    drained: bool,
    /// Set if input was consumed since the last pause, so that output may be pending.
    fed: bool,
    is_complete: bool,
}

impl<T: Transform> TransformedBody<T> {
    /// Transforms the available input, and updates `drained`.
    fn work(&mut self, out: &mut Vec<u8>) -> Result<(), BodyError> {
        let mut rest = &self.input[..];
        self.drained = self.transform.push(&mut rest, out)?;
        let taken = self.input.len() - rest.len();
        self.input.advance(taken);
        self.fed = true;
        Ok(())
    }
}

// Only the body needs to be pinned, and it is pinned on the heap.
impl<T> Unpin for TransformedBody<T> {}

impl<T: Transform> Body for TransformedBody<T> {
    fn poll_data(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        let this = &mut *self;
        let mut out = Vec::new();
        while !this.is_complete {
            let step = if this.drained {
                match this.body.as_mut().poll_data(cx) {
                    Poll::Pending if this.fed => {
                        this.fed = false;
                        this.transform.pause(&mut out)
                    }
                    pending @ Poll::Pending => {
                        ready!(pending.map(drop));
                        Ok(())
                    }
                    Poll::Ready(Some(Ok(piece))) if this.transform.is_idle() => {
                        return Poll::Ready(Some(Ok(piece)));
                    }
                    Poll::Ready(Some(Ok(piece))) => {
                        this.input = piece;
                        this.work(&mut out)
                    }
                    Poll::Ready(Some(Err(error))) => Err(error),
                    Poll::Ready(None) => {
                        this.is_complete = true;
                        this.transform.finish(&mut out)
                    }
                }
            } else {
                this.work(&mut out)
            };
            if let Err(error) = step {
                this.is_complete = true;
                return Poll::Ready(Some(Err(error)));
            }
            if !out.is_empty() {
                return Poll::Ready(Some(Ok(Bytes::from(out))));
            }
        }
        Poll::Ready(None)
    }

    fn size_hint(&self) -> Option<u64> {
        None
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::task::Waker;

    use super::*;

    /// Body that yields the given pieces.
    pub(crate) struct PiecesBody(pub Vec<Vec<u8>>);

    impl Body for PiecesBody {
        fn poll_data(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<Bytes, BodyError>>> {
            let next = if self.0.is_empty() { None } else { Some(Ok(Bytes::from(self.0.remove(0)))) };
            Poll::Ready(next)
        }

        fn size_hint(&self) -> Option<u64> {
            None
        }
    }

    /// Returns all bytes of a body, and the length of its longest piece.
    pub(crate) fn read(mut body: BoxBody) -> Result<(Vec<u8>, usize), BodyError> {
        let (mut all, mut longest) = (Vec::new(), 0);
        let mut cx = Context::from_waker(Waker::noop());
        while let Poll::Ready(Some(piece)) = body.as_mut().poll_data(&mut cx) {
            let piece = piece?;
            assert!(!piece.is_empty(), "a piece is never empty");
            longest = longest.max(piece.len());
            all.extend_from_slice(&piece);
        }
        Ok((all, longest))
    }

    /// Body that yields one piece and then pauses.
    struct PausingBody(Option<Bytes>);

    impl Body for PausingBody {
        fn poll_data(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<Bytes, BodyError>>> {
            self.0.take().map_or(Poll::Pending, |piece| Poll::Ready(Some(Ok(piece))))
        }

        fn size_hint(&self) -> Option<u64> {
            None
        }
    }

    /// Transformation that outputs a prefix at once, like an encoder, and retains the rest until the source pauses.
    struct RetainingTransform(Vec<u8>);

    impl Transform for RetainingTransform {
        fn push(&mut self, input: &mut &[u8], out: &mut Vec<u8>) -> Result<bool, BodyError> {
            out.extend_from_slice(b"begun:");
            self.0.extend_from_slice(std::mem::take(input));
            Ok(true)
        }

        fn pause(&mut self, out: &mut Vec<u8>) -> Result<(), BodyError> {
            out.append(&mut self.0);
            Ok(())
        }

        fn finish(&mut self, _: &mut Vec<u8>) -> Result<(), BodyError> {
            Ok(())
        }
    }

    #[test]
    fn what_is_held_comes_out_when_the_source_pauses_once() {
        let source = Box::pin(PausingBody(Some(Bytes::from_static(b"text"))));
        // Data is not retained twice: the second transformation also receives the pause.
        let mut body =
            transformed(transformed(source, RetainingTransform(Vec::new())), RetainingTransform(Vec::new()));
        let mut cx = Context::from_waker(Waker::noop());
        let mut all = Vec::new();
        while let Poll::Ready(Some(Ok(piece))) = body.as_mut().poll_data(&mut cx) {
            all.extend_from_slice(&piece);
        }
        assert_eq!(all, b"begun:begun:begun:text");
        assert!(body.as_mut().poll_data(&mut cx).is_pending());
    }

    /// Transforms `text` in pieces of `size` bytes.
    pub(crate) fn run(transform: impl Transform + 'static, text: &[u8], size: usize) -> Vec<u8> {
        let pieces = text.chunks(size.max(1)).map(<[u8]>::to_vec).collect();
        read(transformed(Box::pin(PiecesBody(pieces)), transform)).expect("no error").0
    }
}
