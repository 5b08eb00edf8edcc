//! The threads that work on pictures: behind the workers in priority, so that a rush for pictures slows no page.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::available_parallelism;
use std::time::Duration;

use bytes::Bytes;
use myriad_encode::{Pool, PoolOptions, Submitted};
use myriad_image::{Fault, Kind, Made, Wish, make};
use tokio::sync::oneshot;

/// How many pictures may wait; each holds its bytes, at most `image_filter_buffer`.
const MOST_WAITING: usize = 64;
/// Workers, which answer visitors, have 0.
const NICE: i32 = 10;

/// One for the process, and none before the first picture; none where the system refuses threads.
static POOL: LazyLock<Option<Pool>> = LazyLock::new(|| {
    let cores = available_parallelism().map_or(1, usize::from);
    let options = PoolOptions {
        // Each holds a picture of up to `image_filter_pixels` in memory.
        threads: cores.div_ceil(2),
        queue: MOST_WAITING,
        budget: cores as f64,
        burst: Duration::from_secs(1),
        nice: NICE,
    };
    Pool::start(&options).ok()
});

/// What came of asking for work.
pub(super) enum Worked {
    /// The work was done.
    Done(Result<Made, Fault>),
    /// It ended in a panic: a fault of the library that reads.
    Lost,
    /// Too many pictures wait.
    Busy,
}

/// Does the work on one of the threads. Work whose visitor has left in the meantime is not begun.
pub(super) async fn worked(bytes: Bytes, kind: Kind, wish: Wish) -> Worked {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let (done, made) = oneshot::channel();
    let job = move || {
        if !done.is_closed() {
            _ = done.send(make(&bytes, kind, &wish));
        }
    };
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    match POOL.as_ref().map(|pool| pool.submit(number, job)) {
        Some(Submitted::Queued) => made.await.map_or(Worked::Lost, Worked::Done),
        _ => Worked::Busy,
    }
}
