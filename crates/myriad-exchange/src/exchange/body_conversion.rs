//! Conversion of all kinds of response bodies to a body that is polled, the only kind that filters support.

use std::collections::VecDeque;
use std::future::Future;
use std::io;
use std::os::fd::OwnedFd;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use myriad_http::body::{Body, BodyError, BoxBody, EmptyBody, FullBody};
use myriad_net::ResponseBody;
use tokio::task::{JoinHandle, spawn_blocking};

/// Number of bytes read at a time from a file that is sent as a response body.
const PIECE: u64 = 64 << 10;

/// Converts a response body to a body that is polled for its data. No body, and a tunnel, become an empty body.
pub fn pull_body(body: ResponseBody) -> BoxBody {
    match body {
        // A tunnel has no data for filters.
        ResponseBody::None | ResponseBody::Tunnel(_) => Box::pin(EmptyBody),
        ResponseBody::Full(bytes) => Box::pin(FullBody::new(bytes)),
        ResponseBody::Parts(parts) => Box::pin(SegmentsBody(parts.into())),
        ResponseBody::File { file, offset, length } => {
            Box::pin(LongFileBody { file, offset, left: length, pending_read: None })
        }
        ResponseBody::Stream(body, _) => body,
    }
}

struct SegmentsBody(VecDeque<Bytes>);

impl Body for SegmentsBody {
    fn poll_data(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        loop {
            match self.0.pop_front() {
                Some(part) if part.is_empty() => {}
                part => return Poll::Ready(part.map(Ok)),
            }
        }
    }

    fn size_hint(&self) -> Option<u64> {
        Some(self.0.iter().map(|part| part.len() as u64).sum())
    }
}

/// Response body from a part of a file, read in pieces on demand, on the thread pool for blocking operations.
struct LongFileBody {
    file: Arc<OwnedFd>,
    offset: u64,
    left: u64,
    pending_read: Option<JoinHandle<io::Result<Bytes>>>,
}

impl Body for LongFileBody {
    fn poll_data(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        if self.left == 0 {
            return Poll::Ready(None);
        }
        if self.pending_read.is_none() {
            let (file, offset) = (Arc::clone(&self.file), self.offset);
            let length = self.left.min(PIECE) as usize;
            self.pending_read = Some(spawn_blocking(move || read_at(&file, offset, length)));
        }
        let Some(reading) = self.pending_read.as_mut() else { return Poll::Ready(None) };
        let read = ready!(Pin::new(reading).poll(cx));
        self.pending_read = None;
        Poll::Ready(Some(match read {
            Ok(Ok(piece)) => {
                self.offset += piece.len() as u64;
                self.left -= piece.len() as u64;
                Ok(piece)
            }
            Ok(Err(error)) => Err(BodyError::Io(error.to_string())),
            Err(_) => Err(BodyError::Io("the read was cancelled".to_owned())),
        }))
    }

    fn size_hint(&self) -> Option<u64> {
        Some(self.left)
    }
}

fn read_at(file: &OwnedFd, offset: u64, length: usize) -> io::Result<Bytes> {
    let mut bytes = vec![0; length];
    let mut filled = 0;
    while filled < length {
        match rustix::io::pread(file, &mut bytes[filled..], offset + filled as u64)? {
            // The file became shorter, so the announced length cannot be reached.
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            count => filled += count,
        }
    }
    Ok(Bytes::from(bytes))
}
