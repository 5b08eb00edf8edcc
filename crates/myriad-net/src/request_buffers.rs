//! Pools of request buffers, one per thread. A connection uses buffers only while it is busy, so that many idle
//! connections need none.

use std::cell::RefCell;

use myriad_http::head::RequestHead;

use crate::memory_counters::{BUFFERS, CountedBytes};

/// Size in bytes of a pooled buffer for reading from clients.
pub(crate) const READ_BUFFER: usize = 16 * 1024;
/// Maximum number of pooled buffers of each kind (input and response head) per thread.
const KEEP: usize = 64;
/// Capacity in bytes above which the buffer of a response head is not pooled.
const KEEP_HEAD_CAPACITY: usize = 16 * 1024;

/// Buffers of one HTTP/1 exchange: the input, and the request head parsed from it.
#[derive(Default)]
pub(crate) struct RequestBuffers {
    pub(crate) input: ConnectionInput,
    pub(crate) head: RequestHead,
    /// Set if bytes of the request arrived before the response to the previous request was finished (`$pipe`).
    pub(crate) pipelined: bool,
}

/// Buffer of bytes read from the client and not yet consumed.
pub(crate) struct ConnectionInput {
    buffer: Vec<u8>,
    /// Offset of the first unconsumed byte in `buffer`.
    start: usize,
    /// Offset of the end of the unconsumed bytes in `buffer`.
    end: usize,
    counted: CountedBytes,
}

impl Default for ConnectionInput {
    fn default() -> Self {
        let counted = CountedBytes::new(&BUFFERS, READ_BUFFER);
        Self { buffer: vec![0; READ_BUFFER], start: 0, end: 0, counted }
    }
}

impl ConnectionInput {
    /// Returns the unconsumed bytes.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.start == self.end
    }

    pub(crate) fn len(&self) -> usize {
        self.end - self.start
    }

    /// Discards the first `count` unconsumed bytes.
    pub(crate) fn consume(&mut self, count: usize) {
        self.start += count;
        if self.start == self.end {
            self.start = 0;
            self.end = 0;
        }
    }

    pub(crate) fn clear(&mut self) {
        self.start = 0;
        self.end = 0;
    }

    /// Returns free space of the buffer to read into. Moves the unconsumed bytes to the front and lets the buffer grow
    /// up to `most` bytes. Empty if the buffer is full.
    pub(crate) fn room(&mut self, most: usize) -> &mut [u8] {
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        if self.end == self.buffer.len() && self.buffer.len() < most {
            let grown = (self.buffer.len() * 2).min(most);
            self.counted.set(grown);
            self.buffer.resize(grown, 0);
        }
        &mut self.buffer[self.end..]
    }

    /// Adds `count` bytes, which have been read into the space returned by [`Self::room`], to the unconsumed bytes.
    pub(crate) fn commit_read(&mut self, count: usize) {
        self.end += count;
    }
}

thread_local! {
    // Boxed, so that a connection's future stores only a pointer, and taking or returning buffers does not copy them.
    #[expect(clippy::vec_box)]
    static REQUEST_BUFFERS: RefCell<Vec<Box<RequestBuffers>>> = const { RefCell::new(Vec::new()) };
    static HEADS: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
}

/// Returns pooled request buffers, or new ones if the pool of this thread is empty.
pub(crate) fn take_buffers() -> Box<RequestBuffers> {
    REQUEST_BUFFERS.with_borrow_mut(Vec::pop).unwrap_or_default()
}

/// Returns request buffers to the pool of this thread. Drops them if they have grown or the pool is full.
pub(crate) fn return_buffers(mut buffers: Box<RequestBuffers>) {
    if buffers.input.buffer.len() == READ_BUFFER {
        buffers.input.clear();
        buffers.pipelined = false;
        REQUEST_BUFFERS.with_borrow_mut(|pool| {
            if pool.len() < KEEP {
                pool.push(buffers);
            }
        });
    }
}

/// Frees the pooled request buffers and response head buffers of this thread.
pub(crate) fn free_pooled() {
    drop((REQUEST_BUFFERS.take(), HEADS.take()));
}

/// Returns a pooled buffer for a response head, or a new one if the pool of this thread is empty.
pub(crate) fn take_head() -> Vec<u8> {
    HEADS.with_borrow_mut(Vec::pop).unwrap_or_else(|| Vec::with_capacity(1024))
}

/// Returns the buffer of a response head to the pool of this thread. Drops it if it is too large or the pool is full.
pub(crate) fn return_head(mut head: Vec<u8>) {
    if head.capacity() <= KEEP_HEAD_CAPACITY {
        head.clear();
        HEADS.with_borrow_mut(|pool| {
            if pool.len() < KEEP {
                pool.push(head);
            }
        });
    }
}
