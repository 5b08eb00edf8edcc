//! Threads that process images. They have a lower priority than the workers, so that many images do not slow down other
//! responses.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::available_parallelism;
use std::time::Duration;

use crate::image::{ConvertedImage, ImageError, ImageKind, ImageRequest, Interrupt, make};
use bytes::Bytes;
use myriad_encode::{CompressionPool, PoolOptions, SubmitResult};
use tokio::sync::oneshot;

/// Maximum number of images that wait for a thread of the pool. Each occupies its bytes in memory, at most
/// `image_filter_buffer`.
const MOST_WAITING: usize = 64;
/// Nice value of the threads that convert images; workers have 0.
const NICE: i32 = 10;

/// Threads of the process that convert images, created for the first image; `None` if the system refuses to create
/// threads.
static POOL: LazyLock<Option<CompressionPool>> = LazyLock::new(|| {
    let cores = available_parallelism().map_or(1, usize::from);
    let options = PoolOptions {
        // Each thread needs memory for an image of up to `image_filter_pixels`.
        threads: cores.div_ceil(2),
        queue: MOST_WAITING,
        budget: cores as f64,
        burst: Duration::from_secs(1),
        nice: NICE,
    };
    CompressionPool::start(&options).ok()
});

/// Result of a job for the threads that process images.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum JobResult<T> {
    /// The work was done, with this result.
    Done(T),
    /// The work panicked, so it has no result.
    Lost,
    /// Too many images are waiting, or the pool could not be created.
    Busy,
}

/// Converts an image on a thread of the pool, and waits for the result. `wish` describes the requested changes.
pub(super) async fn convert(
    bytes: Bytes,
    kind: ImageKind,
    wish: ImageRequest,
) -> JobResult<Result<ConvertedImage, ImageError>> {
    run(move |interrupt| make(&bytes, kind, &wish, interrupt)).await
}

/// Runs `work` on a thread of the pool. Dropping the future, when the client has disconnected, cancels the work; work
/// that waits is then not started.
async fn run<T: Send + 'static>(work: impl FnOnce(Interrupt<'_>) -> T + Send + 'static) -> JobResult<T> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let (done, result) = oneshot::channel();
    let job = move || {
        if done.is_closed() {
            return;
        }
        let result = work(Interrupt::new(&|| done.is_closed()));
        _ = done.send(result);
    };
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    match POOL.as_ref().map(|pool| pool.submit(number, job)) {
        Some(SubmitResult::Queued) => result.await.map_or(JobResult::Lost, JobResult::Done),
        _ => JobResult::Busy,
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::sync::mpsc;
    use std::task::{Context, Waker};
    use std::time::Duration;

    use super::{Bytes, ImageError, ImageKind, ImageRequest, Interrupt, JobResult, convert, make, run};

    /// Far longer than a thread needs to start and stop: without cancellation the test would fail.
    const LONG: Duration = Duration::from_mins(1);

    #[test]
    fn work_ends_when_its_client_leaves_and_what_waits_never_begins() {
        let (began, beginning) = mpsc::channel();
        let (ended, end) = mpsc::channel();
        let endless = move |interrupt: Interrupt<'_>| {
            began.send(()).expect("the test waits");
            // An invalid image, whose processing returns `Cancelled` only after the cancellation.
            while make(b"\xff\xd8", ImageKind::Jpeg, &ImageRequest::default(), interrupt)
                != Err(ImageError::Cancelled)
            {
                std::thread::yield_now();
            }
            ended.send(()).expect("the test waits");
        };
        let cx = &mut Context::from_waker(Waker::noop());
        let mut client = Box::pin(run(endless));
        assert!(client.as_mut().poll(cx).is_pending());
        beginning.recv_timeout(LONG).expect("the work begins");
        drop(client);
        end.recv_timeout(LONG).expect("the work ends");

        let picture = Bytes::from_static(b"\xff\xd8\xff");
        let mut client = Box::pin(convert(picture, ImageKind::Jpeg, ImageRequest::default()));
        let broken = loop {
            match client.as_mut().poll(cx) {
                std::task::Poll::Ready(worked) => break worked,
                std::task::Poll::Pending => std::thread::yield_now(),
            }
        };
        assert!(
            matches!(broken, JobResult::Done(Err(ImageError::Broken(_)))),
            "the thread is available again"
        );
    }
}
