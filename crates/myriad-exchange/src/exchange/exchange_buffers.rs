//! Pool of buffers that exchanges on the same thread reuse.

use std::cell::RefCell;

use myriad_http::RequestHead;
use myriad_script::Frame;

const MAX_POOLED: usize = 64;
const MAX_POOLED_CAPACITY: usize = 16 * 1024;

/// Reusable buffers for the processing of a request, from a pool of each thread.
#[derive(Default)]
pub struct ExchangeBuffers {
    /// Request head. It may still contain an earlier request. Boxed, like `frame`, because an exchange is moved several
    /// times.
    pub head: Box<RequestHead>,
    /// Buffer in which an exchange stores the URI of its request.
    pub uri: Vec<u8>,
    /// Buffer in which an exchange stores the arguments (query string) of its request.
    pub args: Vec<u8>,
    /// Buffer in which an exchange stores the host of its request.
    pub host: Vec<u8>,
    /// Buffer in which an exchange stores the cache key of its request.
    pub key: Vec<u8>,
    /// Buffer for the bytes of the request that the routing rules have read.
    pub read: Vec<u8>,
    /// Memory of scripts (rewrite rules, maps, templates); `None` if the exchange must create it.
    pub frame: Option<Box<Frame>>,
}

thread_local! {
    static SCRATCH: RefCell<Vec<ExchangeBuffers>> = const { RefCell::new(Vec::new()) };
    static BUFFERS: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
}

/// Takes buffers from this thread's pool, or creates new buffers.
pub fn take() -> ExchangeBuffers {
    SCRATCH.with_borrow_mut(Vec::pop).unwrap_or_default()
}

/// Empties the buffers, except for the request head, and returns them to this thread's pool. Buffers with a capacity of
/// more than [`MAX_POOLED_CAPACITY`] are freed. If the pool is full, all buffers are freed.
pub fn recycle(mut scratch: ExchangeBuffers) {
    if let Some(frame) = &mut scratch.frame {
        frame.reset();
    }
    let ExchangeBuffers { uri, args, host, key, read, .. } = &mut scratch;
    for buffer in [uri, args, host, key, read] {
        clear(buffer);
    }
    SCRATCH.with_borrow_mut(|pool| {
        if pool.len() < MAX_POOLED {
            pool.push(scratch);
        }
    });
}

/// Empties this thread's pool of [`ExchangeBuffers`]. Called on reload, because frames belong to a configuration.
pub fn clear_pool() {
    SCRATCH.with_borrow_mut(Vec::clear);
}

/// Calls `work` with an empty buffer from this thread's pool, and returns the result of `work`. The buffer is then
/// returned to the pool, if the pool is not full.
pub fn with_buffer<R>(work: impl FnOnce(&mut Vec<u8>) -> R) -> R {
    let mut buffer = BUFFERS.with_borrow_mut(Vec::pop).unwrap_or_default();
    let result = work(&mut buffer);
    clear(&mut buffer);
    BUFFERS.with_borrow_mut(|pool| {
        if pool.len() < MAX_POOLED {
            pool.push(buffer);
        }
    });
    result
}

fn clear(buffer: &mut Vec<u8>) {
    buffer.clear();
    if buffer.capacity() > MAX_POOLED_CAPACITY {
        *buffer = Vec::new();
    }
}
