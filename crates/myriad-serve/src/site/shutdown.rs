//! Shutdown of a site: refuses new connections, finishes exchanges, saves the zones' file indexes.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::running::RunningSite;
use super::worker_command::WorkerCommand;
use super::worker_main::ABORT_TIME;
use myriad_exchange::runtime::Runtime;

/// Maximum time that the shutdown waits for the pages of a cache zone to be written to disk.
const DISK_PATIENCE: Duration = Duration::from_secs(5);
/// Time after which the shutdown writes the unfinished steps of the traffic history, although requests are in progress.
const HISTORY_PATIENCE: Duration = Duration::from_secs(5);
/// Maximum time that the shutdown waits for trace spans to be sent.
const SPANS_PATIENCE: Duration = Duration::from_secs(2);
/// Maximum time that [`RunningSite::halt`] waits for each of these: trace spans to be sent, pages to be written to
/// disk, and log lines to be written.
const HALT_PATIENCE: Duration = Duration::from_millis(500);

impl RunningSite {
    /// Stops accepting connections and returns. Idle connections are closed immediately, others after their current
    /// response or `worker_shutdown_timeout`. Also stops the threads that renew certificates, and disconnects readers
    /// of live events.
    pub fn quit(&self) {
        let mut inner = self.inner.lock();
        inner.agents.stop();
        inner.observer.end_readers();
        for worker in &inner.workers {
            // Fails if the worker has already exited.
            let _ = worker.commands.send(WorkerCommand::Quit(*self.shutdown_timeout.lock()));
        }
    }

    /// Waits until the last exchange is finished, or `worker_shutdown_timeout` has passed; then stops the history and
    /// the node of the cluster, and waits for a limited time until pages and trace spans are written.
    pub fn wait(&self) {
        self.wait_for_workers();
        self.inner.lock().observer.end();
        crate::tracing::finish(SPANS_PATIENCE);
        self.inner.lock().cluster.stop(true);
        let runtime = Arc::clone(&self.inner.lock().runtime);
        for zone in runtime.zones.values() {
            zone.zone.close_disk(DISK_PATIENCE);
        }
    }

    /// Saves the zones' file indexes, writes pending log lines and sends trace spans, before an immediate exit of the
    /// process; with the indexes, the next process need not open all files. Stops the history and the node of the
    /// cluster. Exchanges continue until the process exits.
    pub fn halt(&self) {
        let runtime = {
            let mut inner = self.inner.lock();
            inner.observer.end();
            inner.cluster.stop(true);
            Arc::clone(&inner.runtime)
        };
        std::thread::scope(|scope| {
            scope.spawn(|| self.write_logs(&runtime));
            scope.spawn(|| crate::tracing::finish(HALT_PATIENCE));
            for zone in runtime.zones.values() {
                scope.spawn(|| zone.zone.close_disk(HALT_PATIENCE));
            }
        });
    }

    fn write_logs(&self, runtime: &Runtime) {
        let (done, left) = std::sync::mpsc::channel();
        let workers =
            self.inner.lock().workers.iter().map(|worker| worker.commands.clone()).collect::<Vec<_>>();
        let asked = workers
            .iter()
            .filter(|worker| worker.send(WorkerCommand::FlushLogs(done.clone())).is_ok())
            .count();
        let began = Instant::now();
        for _ in 0..asked {
            // Stops waiting at the limit, so that a stuck worker does not delay the exit.
            if left.recv_timeout(HALT_PATIENCE.saturating_sub(began.elapsed())).is_err() {
                break;
            }
        }
        self.logs.threads().wait_until_written(HALT_PATIENCE.saturating_sub(began.elapsed()));
        self.logs.maintain(u64::MAX, &runtime.zone_log);
    }

    /// Waits until the workers have exited, at most two seconds longer than `worker_shutdown_timeout` if that is set.
    /// The history is completed after [`HISTORY_PATIENCE`], so that it contains requests that are completed within this
    /// time, and a successor can use its file.
    fn wait_for_workers(&self) {
        let limit = *self.shutdown_timeout.lock();
        let workers = std::mem::take(&mut self.inner.lock().workers);
        let began = Instant::now();
        for worker in workers {
            while !worker.thread.is_finished() {
                if began.elapsed() >= HISTORY_PATIENCE {
                    self.inner.lock().observer.end();
                }
                if limit.is_some_and(|limit| began.elapsed() >= limit + 2 * ABORT_TIME) {
                    return;
                }
                std::thread::sleep(Duration::from_millis(5));
            }
            let _ = worker.thread.join();
        }
    }
}
