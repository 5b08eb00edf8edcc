//! Return of memory to the system by the allocator, mimalloc 2.
//!
//! A block freed by a thread other than its allocating thread remains assigned to the latter, which collects such
//! blocks while it allocates: after each hundredth allocation above the small sizes it checks for freed blocks, and
//! after each ten thousandth it performs a collection, which returns ranges that have been free for a tenth of a second
//! to the system (`src/page.c`, `generic_collect`, `purge_delay`). An idle thread does neither: after zones have been
//! emptied, the process would remain as large as before. Calling the allocator directly would need `unsafe`; allocating
//! does not.

use std::hint::black_box;

/// Size in bytes above the small sizes, which are 1024 at most.
const BEYOND_SMALL: usize = 2048;
/// Number of allocations after which a thread collects blocks freed by others; ten times that takes less than one
/// millisecond.
const TAKES_IN: usize = 1000;
/// Number of allocations after which a thread performs a collection.
const COLLECTS: usize = 10_100;

/// Makes this thread collect blocks of its memory that others have freed. It takes some tens of microseconds.
pub fn collect_freed_blocks() {
    allocate(TAKES_IN);
}

/// Makes this thread perform a collection and return free memory to the system, including memory of other threads. It
/// takes less than a millisecond and should run on a background thread.
pub fn release_free_memory() {
    allocate(COLLECTS);
}

fn allocate(count: usize) {
    for _ in 0..count {
        drop(black_box(Vec::<u8>::with_capacity(BEYOND_SMALL)));
    }
}
