//! Response body of a multiplexed connection, read in pieces as the flow-control window allows.

use std::collections::VecDeque;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use myriad_http::body::{BodyError, BoxBody};

use crate::response::{RateLimit, ResponseBody};
use crate::response_pacer::ResponsePacer;

/// Maximum number of bytes read from a file at once for an HTTP/2 or HTTP/3 response.
const FILE_PIECE: usize = 64 * 1024;

/// Minimum number of bytes read from a file at once, even if fewer are requested, unless the file or the rate limit
/// leaves fewer.
const SHORT_PIECE: usize = 4 * 1024;

/// Rest of a response body that the driver of an HTTP/2 or HTTP/3 connection has not taken.
pub struct OutgoingBody {
    source: OutgoingSource,
    /// Rest of a piece that was taken from the source of the body, but that the rate limit (`limit_rate`) does not
    /// allow to be sent yet.
    held: Bytes,
    pace: Option<ResponsePacer>,
    /// Number of body bytes that the driver has taken.
    given: u64,
}

enum OutgoingSource {
    Memory(VecDeque<Bytes>),
    File { file: Arc<OwnedFd>, offset: u64, left: u64 },
    Stream { body: BoxBody, left: Option<u64> },
}

impl OutgoingBody {
    /// Wraps a body of which no byte has been sent yet. `rate` is `limit_rate`. A tunnel is treated as an empty body.
    pub fn new(body: ResponseBody, rate: Option<RateLimit>) -> Self {
        let source = match body {
            ResponseBody::None | ResponseBody::Tunnel(_) => OutgoingSource::Memory(VecDeque::new()),
            ResponseBody::Full(bytes) => OutgoingSource::Memory(VecDeque::from([bytes])),
            ResponseBody::Parts(parts) => OutgoingSource::Memory(parts.into()),
            ResponseBody::File { file, offset, length } => {
                OutgoingSource::File { file, offset, left: length }
            }
            ResponseBody::Stream(body, left) => OutgoingSource::Stream { body, left },
        };
        Self { source, held: Bytes::new(), pace: rate.map(ResponsePacer::new), given: 0 }
    }

    /// Returns true if the body is known to be complete. Always false for a stream, at whose end [`Self::poll_piece`]
    /// returns `None`.
    pub fn is_over(&self) -> bool {
        self.held.is_empty()
            && match &self.source {
                OutgoingSource::Memory(parts) => parts.iter().all(Bytes::is_empty),
                OutgoingSource::File { left, .. } => *left == 0,
                OutgoingSource::Stream { .. } => false,
            }
    }

    /// Returns the next piece; `None` once the body is complete; an error if the body cannot be completed. Pending if
    /// none is available or the rate limit is reached. From files, about `wanted` bytes are read: at least
    /// `SHORT_PIECE` (unless the rate limit allows fewer), at most `FILE_PIECE`. Other pieces can be longer.
    pub fn poll_piece(
        &mut self,
        wanted: usize,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, BodyError>>> {
        let room = ready!(ResponsePacer::poll_room(&mut self.pace, self.given, cx));
        while self.held.is_empty() {
            match ready!(self.source.poll(room.min(wanted.max(SHORT_PIECE)), cx)) {
                Some(Ok(piece)) => self.held = piece,
                end => return Poll::Ready(end),
            }
        }
        let piece = self.held.split_to(room.min(self.held.len()));
        self.given += piece.len() as u64;
        Poll::Ready(Some(Ok(piece)))
    }
}

impl OutgoingSource {
    fn poll(&mut self, room: usize, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        match self {
            Self::Memory(parts) => Poll::Ready(parts.pop_front().map(Ok)),
            Self::File { left: 0, .. } => Poll::Ready(None),
            Self::File { file, offset, left } => {
                let most = (*left).min(FILE_PIECE.min(room) as u64) as usize;
                let piece = read(file, *offset, most);
                if let Ok(piece) = &piece {
                    *offset += piece.len() as u64;
                    *left -= piece.len() as u64;
                }
                Poll::Ready(Some(piece))
            }
            Self::Stream { body, left } => match ready!(body.as_mut().poll_data(cx)) {
                Some(Ok(mut piece)) => {
                    if let Some(left) = left {
                        piece.truncate(usize::try_from(*left).unwrap_or(usize::MAX));
                        *left -= piece.len() as u64;
                    }
                    Poll::Ready(Some(Ok(piece)))
                }
                // A truncated body of known length must not look complete.
                None if left.is_some_and(|left| left > 0) => Poll::Ready(Some(Err(BodyError::Aborted))),
                end => Poll::Ready(end),
            },
        }
    }
}

fn read(file: &OwnedFd, offset: u64, most: usize) -> Result<Bytes, BodyError> {
    let mut piece = vec![0; most];
    match rustix::io::pread(file.as_fd(), &mut piece[..], offset) {
        // The file was truncated, so the announced length cannot be sent.
        Ok(0) => Err(BodyError::Aborted),
        Ok(count) => {
            piece.truncate(count);
            Ok(Bytes::from(piece))
        }
        Err(error) => Err(BodyError::Io(error.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use myriad_http::body::FullBody;
    use std::io::Write;
    use std::task::Waker;

    fn all(mut body: OutgoingBody) -> Result<Vec<u8>, BodyError> {
        let mut cx = Context::from_waker(Waker::noop());
        let mut all = Vec::new();
        loop {
            match body.poll_piece(usize::MAX, &mut cx) {
                Poll::Ready(Some(piece)) => all.extend_from_slice(&piece?),
                Poll::Ready(None) => return Ok(all),
                Poll::Pending => panic!("nothing here has to wait"),
            }
        }
    }

    fn stream(text: &'static [u8], length: Option<u64>) -> OutgoingBody {
        OutgoingBody::new(ResponseBody::Stream(Box::pin(FullBody::new(text)), length), None)
    }

    #[test]
    fn every_kind_of_body_is_given_whole() {
        let parts = vec![Bytes::from_static(b"ab"), Bytes::new(), Bytes::from_static(b"c")];
        assert_eq!(all(OutgoingBody::new(ResponseBody::Parts(parts), None)).unwrap(), b"abc");
        assert_eq!(all(OutgoingBody::new(ResponseBody::None, None)).unwrap(), b"");
        assert_eq!(all(stream(b"abc", None)).unwrap(), b"abc");
        assert_eq!(all(stream(b"abcd", Some(3))).unwrap(), b"abc");
    }

    #[test]
    fn what_ends_early_is_an_error() {
        assert_eq!(all(stream(b"abc", Some(4))), Err(BodyError::Aborted));
    }

    #[test]
    fn file_is_given_from_its_offset_and_its_shrinking_noticed() {
        let path = std::env::temp_dir().join(format!("myriad-outgoing-{}", std::process::id()));
        let mut file = std::fs::File::create_new(&path).unwrap();
        file.write_all(&vec![b'x'; 3 * FILE_PIECE]).unwrap();
        let file = Arc::new(OwnedFd::from(std::fs::File::open(&path).unwrap()));
        std::fs::remove_file(&path).unwrap();
        let part = |length| {
            let body = ResponseBody::File { file: Arc::clone(&file), offset: 7, length };
            all(OutgoingBody::new(body, None))
        };
        assert_eq!(part(2 * FILE_PIECE as u64).unwrap().len(), 2 * FILE_PIECE);
        assert_eq!(part(3 * FILE_PIECE as u64), Err(BodyError::Aborted));
    }

    #[test]
    fn rate_holds_back_what_is_beyond_it() {
        let rate = RateLimit { bytes_per_second: 2, after: 1 };
        let mut body = OutgoingBody::new(ResponseBody::Full(Bytes::from_static(b"abcdef")), Some(rate));
        let mut cx = Context::from_waker(Waker::noop());
        assert_eq!(body.poll_piece(usize::MAX, &mut cx), Poll::Ready(Some(Ok(Bytes::from_static(b"abc")))));
    }
}
