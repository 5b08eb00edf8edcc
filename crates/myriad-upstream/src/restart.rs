//! Restart of background tasks after a panic. Tokio catches a panic in a task and terminates the task, so that health
//! checks and the resolution of names would stop until the next reload.

use std::rc::Rc;
use std::time::Duration;

use tokio::task::{JoinError, spawn_local};

/// Delay between a panic in a task and its restart.
const RESTART_DELAY: Duration = Duration::from_secs(1);

/// Runs the future that `create` returns in a task on this thread. After a panic in the task, calls `log_panic` and,
/// [`RESTART_DELAY`] later, runs another future of `create`. Both functions get `shared`.
pub(crate) fn spawn_restarting<T: 'static, F: Future<Output = ()> + 'static>(
    shared: Rc<T>,
    create: impl Fn(Rc<T>) -> F + 'static,
    log_panic: impl Fn(&T, &JoinError) + 'static,
) {
    spawn_local(async move {
        while let Err(error) = spawn_local(create(Rc::clone(&shared))).await {
            // Tasks are only cancelled at the shutdown of the runtime.
            if !error.is_panic() {
                return;
            }
            log_panic(&shared, &error);
            tokio::time::sleep(RESTART_DELAY).await;
        }
    });
}
