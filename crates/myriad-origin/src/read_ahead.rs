//! Read-ahead of an origin's response (`*_buffering`), so that a slow client does not occupy a php-fpm child.
//!
//! ```text
//! origin --pump--> memory, up to the size of the buffers ----------> client
//!            \---> file, while memory is full or the file is read --/
//! ```
//!
//! Available data is sent to the client immediately. The pump is a separate task. It stops when the client's reader is
//! dropped, unless `*_ignore_client_abort` requires the response to be read completely.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker, ready};

use bytes::Bytes;
use myriad_files::{PendingRead, TempFile};
use myriad_http::body::{Body, BodyError, BoxBody};
use myriad_net::ResponseBody;
use myriad_net::memory::BufferedBodyBytes;

use crate::read_rate_limiter::ReadRateLimiter;

/// Limits for reading a response from the origin ahead of the client.
#[derive(Clone, Copy, Debug)]
pub struct ReadAheadLimits {
    /// Maximum number of bytes read ahead in memory, exceeded by at most one piece. Further data is written to the
    /// file; without a file, reading pauses.
    pub memory: u64,
    /// Size in bytes that the temporary file may reach, exceeded by at most one piece, before reading pauses until the
    /// client has read the contents (`*_max_temp_file_size`); 0 disables the file.
    pub file: u64,
    /// If true, the response is read completely even after the client has disconnected.
    pub to_the_end: bool,
    /// Maximum read rate in bytes per second; 0 for no limit.
    pub rate: u64,
}

/// Reads a body ahead of its reader. `length` is the length that the origin declared, if any. Without a rate limit, a
/// body that is already complete and fits into memory is returned as a whole: it needs no task and can be compressed at
/// once.
pub fn read_ahead(mut body: BoxBody, length: Option<u64>, ahead: ReadAheadLimits) -> ResponseBody {
    let mut state = State::default();
    if ahead.rate == 0 {
        state.fill(&mut body, ahead.memory);
    }
    if matches!(state.end, Some(Ok(()))) {
        return state.whole();
    }
    ResponseBody::Stream(state.into_body(body, ahead), length)
}

/// Returns a body that a new task reads ahead of its reader. The caller has already read the start of `body`.
pub fn read_started_ahead(body: BoxBody, ahead: ReadAheadLimits) -> BoxBody {
    State::default().into_body(body, ahead)
}

/// Data that was read from the origin and not taken by the client yet. The data in memory precedes that in the file;
/// while the file contains unread data, new data is written to the file.
#[derive(Default)]
struct State {
    /// First piece, until the state is shared with the pump: most short responses consist of a single piece.
    first: Bytes,
    queue: VecDeque<Bytes>,
    /// Number of bytes of the pieces in `queue`.
    waiting: BufferedBodyBytes,
    file: Option<TempFile>,
    /// Offset in the file after the written data; 0 again if data is written after all data was read.
    written: u64,
    /// Offset in the file of the first unread byte.
    read: u64,
    /// Result of the origin's body; `None` while it may deliver more data.
    end: Option<Result<(), BodyError>>,
    /// True once the reader of the body was dropped.
    reader_dropped: bool,
    reader: Option<Waker>,
    pump: Option<Waker>,
}

type Shared = Rc<RefCell<State>>;

impl State {
    /// Takes the data of `body` that is available without waiting, up to the memory limit.
    fn fill(&mut self, body: &mut BoxBody, memory: u64) {
        let mut cx = Context::from_waker(Waker::noop());
        while self.bytes_in_memory() < memory {
            match body.as_mut().poll_data(&mut cx) {
                Poll::Pending => return,
                Poll::Ready(Some(Ok(piece))) if self.bytes_in_memory() == 0 => self.first = piece,
                Poll::Ready(Some(Ok(piece))) => self.push(piece),
                Poll::Ready(Some(Err(error))) => return self.end = Some(Err(error)),
                Poll::Ready(None) => return self.end = Some(Ok(())),
            }
        }
    }

    /// Returns a body of the data read so far and of the rest, which a new task reads ahead.
    fn into_body(mut self, body: BoxBody, ahead: ReadAheadLimits) -> BoxBody {
        if !self.first.is_empty() {
            self.waiting.add(self.first.len());
            self.queue.push_front(std::mem::take(&mut self.first));
        }
        let is_complete = self.end.is_some();
        let shared = Rc::new(RefCell::new(self));
        if !is_complete {
            tokio::task::spawn_local(pump(body, ahead, Rc::clone(&shared)));
        }
        Box::pin(Reader { shared, reading: None })
    }

    /// Returns all data of a completely read body as a single buffer.
    fn whole(self) -> ResponseBody {
        if self.queue.is_empty() {
            return ResponseBody::Full(self.first);
        }
        let mut all = Vec::with_capacity(self.bytes_in_memory() as usize);
        all.extend_from_slice(&self.first);
        for piece in self.queue {
            all.extend_from_slice(&piece);
        }
        ResponseBody::Full(all.into())
    }

    fn push(&mut self, piece: Bytes) {
        self.waiting.add(piece.len());
        self.queue.push_back(piece);
    }

    /// Returns the number of bytes that are in memory and not taken yet.
    fn bytes_in_memory(&self) -> u64 {
        self.first.len() as u64 + self.waiting.get()
    }

    fn file_is_drained(&self) -> bool {
        self.read == self.written
    }

    fn has_room(&self, ahead: ReadAheadLimits) -> bool {
        self.reader_dropped
            || self.written < ahead.file
            || self.file_is_drained() && self.bytes_in_memory() < ahead.memory
    }
}

fn wake(waker: Option<Waker>) {
    if let Some(waker) = waker {
        waker.wake();
    }
}

async fn pump(mut body: BoxBody, ahead: ReadAheadLimits, shared: Shared) {
    let mut pace = ReadRateLimiter::new(ahead.rate);
    let end = loop {
        wait_for_room(&shared, ahead).await;
        pace.wait().await;
        let Some(piece) = next(&mut body, ahead, &shared).await else { return };
        match piece {
            None => break Ok(()),
            Some(Err(error)) => break Err(error),
            Some(Ok(piece)) => {
                pace.count_read(piece.len());
                if let Err(error) = store_piece(piece, ahead, &shared).await {
                    break Err(error);
                }
            }
        }
    };
    let mut state = shared.borrow_mut();
    state.end = Some(end);
    let reader = state.reader.take();
    drop(state);
    wake(reader);
}

async fn wait_for_room(shared: &Shared, ahead: ReadAheadLimits) {
    poll_fn(|cx| {
        let mut state = shared.borrow_mut();
        if state.has_room(ahead) {
            return Poll::Ready(());
        }
        state.pump = Some(cx.waker().clone());
        Poll::Pending
    })
    .await;
}

/// Returns the next piece of the origin's body, or `Some(None)` at its end; `None` if the reader was dropped and the
/// rest is not needed.
async fn next(
    body: &mut BoxBody,
    ahead: ReadAheadLimits,
    shared: &Shared,
) -> Option<Option<Result<Bytes, BodyError>>> {
    poll_fn(|cx| {
        let mut state = shared.borrow_mut();
        if state.reader_dropped && !ahead.to_the_end {
            return Poll::Ready(None);
        }
        state.pump = Some(cx.waker().clone());
        drop(state);
        body.as_mut().poll_data(cx).map(Some)
    })
    .await
}

/// Adds a piece to the memory queue, or to the file (if it is enabled) when memory is full or the file contains unread
/// data. Discards the piece if the reader was dropped.
async fn store_piece(piece: Bytes, ahead: ReadAheadLimits, shared: &Shared) -> Result<(), BodyError> {
    let (file, at) = {
        let mut state = shared.borrow_mut();
        if state.reader_dropped {
            return Ok(());
        }
        let fits = state.bytes_in_memory() + piece.len() as u64 <= ahead.memory || ahead.file == 0;
        if state.file_is_drained() && fits {
            state.push(piece);
            let reader = state.reader.take();
            drop(state);
            wake(reader);
            return Ok(());
        }
        if state.file_is_drained() {
            (state.written, state.read) = (0, 0);
        }
        (state.file.clone(), state.written)
    };
    let failed = |error: std::io::Error| BodyError::Io(format!("temporary file: {error}"));
    let file = match file {
        Some(file) => file,
        None => TempFile::create().await.map_err(failed)?,
    };
    let length = piece.len() as u64;
    file.write(vec![piece], at).await.map_err(failed)?;
    let mut state = shared.borrow_mut();
    state.file = Some(file);
    state.written = at + length;
    let reader = state.reader.take();
    drop(state);
    wake(reader);
    Ok(())
}

struct Reader {
    shared: Shared,
    reading: Option<PendingRead>,
}

impl Body for Reader {
    fn poll_data(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        let this = &mut *self;
        loop {
            if let Some(reading) = &mut this.reading {
                let read = ready!(reading.poll(cx));
                this.reading = None;
                let mut state = this.shared.borrow_mut();
                state.read += read.as_ref().map_or(0, Bytes::len) as u64;
                let pump = state.pump.take();
                drop(state);
                wake(pump);
                return Poll::Ready(Some(read));
            }
            let mut state = this.shared.borrow_mut();
            if let Some(piece) = state.queue.pop_front() {
                state.waiting.take(piece.len());
                let pump = state.pump.take();
                drop(state);
                wake(pump);
                return Poll::Ready(Some(Ok(piece)));
            }
            match (&state.file, &state.end) {
                (Some(file), _) if !state.file_is_drained() => {
                    let reading = file.read(state.read, state.written);
                    drop(state);
                    this.reading = Some(reading);
                }
                (_, Some(end)) => return Poll::Ready(end.clone().err().map(Err)),
                (_, None) => {
                    state.reader = Some(cx.waker().clone());
                    return Poll::Pending;
                }
            }
        }
    }

    fn size_hint(&self) -> Option<u64> {
        None
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let mut state = self.shared.borrow_mut();
        state.reader_dropped = true;
        state.queue.clear();
        state.waiting = BufferedBodyBytes::default();
        let pump = state.pump.take();
        drop(state);
        wake(pump);
    }
}

#[cfg(test)]
mod tests;
