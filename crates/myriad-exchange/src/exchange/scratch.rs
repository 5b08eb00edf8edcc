//! Buffers that one exchange leaves to the next on the same thread.

use std::cell::RefCell;

use myriad_http::RequestHead;
use myriad_script::Frame;

const KEEP: usize = 64;
const KEEP_CAPACITY: usize = 16 * 1024;

/// What an exchange works in.
#[derive(Default)]
pub struct Scratch {
    /// A cleared head; boxed, as `frame`: an exchange is moved several times.
    pub head: Box<RequestHead>,
    /// For the URI.
    pub uri: Vec<u8>,
    /// For the arguments.
    pub args: Vec<u8>,
    /// For the host.
    pub host: Vec<u8>,
    /// For the cache key.
    pub key: Vec<u8>,
    /// For what the rules read of the request.
    pub read: Vec<u8>,
    /// For scripts; none where a new one will do, or an exchange has it.
    pub frame: Option<Box<Frame>>,
}

thread_local! {
    static SCRATCH: RefCell<Vec<Scratch>> = const { RefCell::new(Vec::new()) };
    static BUFFERS: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
}

/// Takes a scratch out of this thread's pool, or makes one.
pub fn take() -> Scratch {
    SCRATCH.with_borrow_mut(Vec::pop).unwrap_or_default()
}

/// Gives a scratch back.
pub fn give(mut scratch: Scratch) {
    if let Some(frame) = &mut scratch.frame {
        frame.reset();
    }
    let Scratch { uri, args, host, key, read, .. } = &mut scratch;
    for buffer in [uri, args, host, key, read] {
        clear(buffer);
    }
    SCRATCH.with_borrow_mut(|pool| {
        if pool.len() < KEEP {
            pool.push(scratch);
        }
    });
}

/// Frames belong to one configuration: a reload calls this.
pub fn forget() {
    SCRATCH.with_borrow_mut(Vec::clear);
}

/// Runs `work` with an empty buffer of this thread's pool.
pub fn with_buffer<R>(work: impl FnOnce(&mut Vec<u8>) -> R) -> R {
    let mut buffer = BUFFERS.with_borrow_mut(Vec::pop).unwrap_or_default();
    let result = work(&mut buffer);
    clear(&mut buffer);
    BUFFERS.with_borrow_mut(|pool| {
        if pool.len() < KEEP {
            pool.push(buffer);
        }
    });
    result
}

fn clear(buffer: &mut Vec<u8>) {
    buffer.clear();
    if buffer.capacity() > KEEP_CAPACITY {
        *buffer = Vec::new();
    }
}
