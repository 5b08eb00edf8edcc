//! What has the allocator, mimalloc 2, give memory back to the system.
//!
//! A block that another thread frees than the one that allocated it stays with the latter, which takes it in while it allocates: after
//! each hundredth allocation beyond the small sizes it looks at what was freed so, after each ten thousandth it collects, and then
//! whole stretches that have been free for a tenth of a second go back to the system (`src/page.c`, `generic_collect`, `purge_delay`).
//! A thread that rests does neither: zones could be emptied, and the process would be as large as before. To call the allocator
//! itself would need `unsafe`; to allocate does not.

use std::hint::black_box;

/// Bytes beyond the small sizes, which are 1024 at most.
const BEYOND_SMALL: usize = 2048;
/// Allocations after which a thread takes in what others have freed; ten times that is no whole millisecond.
const TAKES_IN: usize = 1000;
/// Allocations after which it collects.
const COLLECTS: usize = 10_100;

/// Has this thread take in what others have freed of its memory: some tens of microseconds.
pub fn take_in() {
    allocate(TAKES_IN);
}

/// Has this thread collect, and what is free go back to the system, also of other threads: less than a millisecond. For a thread that
/// nobody waits for.
pub fn give_back() {
    allocate(COLLECTS);
}

fn allocate(count: usize) {
    for _ in 0..count {
        drop(black_box(Vec::<u8>::with_capacity(BEYOND_SMALL)));
    }
}
