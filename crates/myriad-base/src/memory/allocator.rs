//! Return of freed memory to the system (allocator: mimalloc 2).
//!
//! A block that another thread has freed stays with the thread that allocated it until that thread collects it. A
//! thread checks for such blocks after each hundredth larger allocation. After each ten thousandth it performs a full
//! collection, which returns ranges that have been free for 0.1 s to the system (`src/page.c`, `generic_collect`,
//! `purge_delay`). An idle thread does neither, so the process would not become smaller when zones are emptied. These
//! functions trigger both by allocations, because a call of the allocator would need `unsafe`.

use std::hint::black_box;

/// Size in bytes of the allocations by which a thread is made to collect freed blocks: above mimalloc's small sizes (at
/// most 1024).
const BEYOND_SMALL: usize = 2048;
/// Number of allocations that make mimalloc collect the thread's blocks that other threads have freed.
const TAKES_IN: usize = 1000;
/// Number of allocations that make mimalloc perform a full collection for the thread.
const COLLECTS: usize = 10_100;

/// Makes the calling thread collect its blocks that other threads have freed. Takes some tens of microseconds.
pub fn collect_freed_blocks() {
    allocate(TAKES_IN);
}

/// Makes the calling thread perform a full collection, which returns free memory to the system, including memory of
/// other threads. Takes less than a millisecond; should run on a background thread.
pub fn release_free_memory() {
    allocate(COLLECTS);
}

fn allocate(count: usize) {
    for _ in 0..count {
        drop(black_box(Vec::<u8>::with_capacity(BEYOND_SMALL)));
    }
}
