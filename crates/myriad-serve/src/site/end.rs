//! The end of a site: no more connections, what is under way, what zones know of their files.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::orders::Order;
use super::running::Site;
use super::worker_life::BREAKING_OFF;
use myriad_exchange::runtime::Runtime;

/// How long the end waits for pages that are still to be written.
const DISK_PATIENCE: Duration = Duration::from_secs(5);
/// How long it waits for spans that are still to be sent.
const SPANS_PATIENCE: Duration = Duration::from_secs(2);
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
        myriad_otel::finish(SPANS_PATIENCE);
        let runtime = Arc::clone(&self.inner.lock().runtime);
        for zone in runtime.zones.values() {
            zone.zone.close_disk(DISK_PATIENCE);
        }
    }

    /// Writes down what zones know of their files, and what was logged, for a process that is to end at once: the next one need not
    /// open them all then.
    /// Exchanges go on meanwhile and end with the process.
    pub fn halt(&self) {
        let runtime = {
            let mut inner = self.inner.lock();
            inner.observing.end();
            Arc::clone(&inner.runtime)
        };
        std::thread::scope(|scope| {
            scope.spawn(|| self.write_logs(&runtime));
            scope.spawn(|| myriad_otel::finish(HALT_PATIENCE));
            for zone in runtime.zones.values() {
                scope.spawn(|| zone.zone.close_disk(HALT_PATIENCE));
            }
        });
    }

    fn write_logs(&self, runtime: &Runtime) {
        let (done, left) = std::sync::mpsc::channel();
        let workers =
            self.inner.lock().workers.iter().map(|worker| worker.orders.clone()).collect::<Vec<_>>();
        let asked =
            workers.iter().filter(|worker| worker.send(Order::LeaveLines(done.clone())).is_ok()).count();
        let began = Instant::now();
        for _ in 0..asked {
            // A worker that cannot answer, as it is stuck, keeps nobody.
            if left.recv_timeout(HALT_PATIENCE.saturating_sub(began.elapsed())).is_err() {
                break;
            }
        }
        self.logs.threads().settle(HALT_PATIENCE.saturating_sub(began.elapsed()));
        self.logs.tend(u64::MAX, &runtime.zone_log);
    }

    fn wait_for_workers(&self) {
        let limit = *self.shutdown_timeout.lock();
        let workers = std::mem::take(&mut self.inner.lock().workers);
        let began = Instant::now();
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
