//! The end of a site: no more connections, what is under way, what zones know of their files.

use std::sync::Arc;
use std::time::Duration;

use super::orders::Order;
use super::running::Site;
use super::worker_life::BREAKING_OFF;

/// How long the end waits for pages that are still to be written.
const DISK_PATIENCE: Duration = Duration::from_secs(5);
/// The same where the process is to end at once.
const HALT_PATIENCE: Duration = Duration::from_millis(500);

impl Site {
    /// Stops accepting; idle connections close at once, the others after their answer.
    pub fn quit(&self) {
        let mut inner = self.inner.lock();
        inner.agents.end();
        inner.observing.end();
        for worker in &inner.workers {
            // A worker that has ended already has no need of the order.
            let _ = worker.orders.send(Order::Quit(*self.shutdown_timeout.lock()));
        }
    }

    /// Returns when the last exchange has ended, or `worker_shutdown_timeout` has passed.
    pub fn wait(&self) {
        self.wait_for_workers();
        let runtime = Arc::clone(&self.inner.lock().runtime);
        for zone in runtime.zones.values() {
            zone.zone.close_disk(DISK_PATIENCE);
        }
    }

    /// Writes down what zones know of their files, for a process that is to end at once: the next one need not open them all then.
    /// Exchanges go on meanwhile and end with the process.
    pub fn halt(&self) {
        let runtime = {
            let mut inner = self.inner.lock();
            inner.observing.end();
            Arc::clone(&inner.runtime)
        };
        std::thread::scope(|scope| {
            for zone in runtime.zones.values() {
                scope.spawn(|| zone.zone.close_disk(HALT_PATIENCE));
            }
        });
    }

    fn wait_for_workers(&self) {
        let limit = *self.shutdown_timeout.lock();
        let workers = std::mem::take(&mut self.inner.lock().workers);
        let began = std::time::Instant::now();
        for worker in workers {
            while !worker.thread.is_finished() {
                if limit.is_some_and(|limit| began.elapsed() >= limit + 2 * BREAKING_OFF) {
                    return;
                }
                std::thread::sleep(Duration::from_millis(5));
            }
            let _ = worker.thread.join();
        }
    }
}
