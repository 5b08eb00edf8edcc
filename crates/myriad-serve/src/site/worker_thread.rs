//! Start and handle of a worker thread.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::JoinHandle;

use tokio::runtime::{Builder, LocalOptions};
use tokio::sync::mpsc as channel;

use super::worker_command::WorkerCommand;
use super::worker_main::{WorkerShared, run_worker};
use myriad_exchange::counters::Counters;

/// Handle of a worker thread.
pub(super) struct WorkerThread {
    /// Sender of commands; closed once the thread has exited.
    pub commands: channel::UnboundedSender<WorkerCommand>,
    /// Handle for waiting until the thread exits.
    pub thread: JoinHandle<()>,
    /// Request and connection counters of the worker.
    pub counters: Arc<Counters>,
}

impl WorkerThread {
    /// Starts the worker `index`, which waits for its first command. Fails if the thread cannot be started.
    pub(super) fn spawn(index: usize, shared: WorkerShared) -> std::io::Result<Self> {
        let (orders, inbox) = channel::unbounded_channel();
        let counters = Arc::clone(&shared.all_counters[index]);
        let own = Arc::clone(&counters);
        let thread = std::thread::Builder::new().name(format!("worker-{index}")).spawn(move || {
            let mut runtime = Builder::new_current_thread();
            runtime.enable_all().on_thread_unpark(myriad_upstream::note_wakeup);
            let runtime = runtime.build_local(LocalOptions::default());
            match runtime {
                Ok(runtime) => {
                    let failure = Arc::clone(&shared.failure);
                    let life = AssertUnwindSafe(|| runtime.block_on(run_worker(inbox, shared, own)));
                    if catch_unwind(life).is_err() {
                        eprintln!("myriad: [alert] panic in a worker thread");
                        failure.end_process();
                    }
                }
                Err(error) => eprintln!("myriad: [emerg] a worker thread could not start: {error}"),
            }
        })?;
        Ok(Self { commands: orders, thread, counters })
    }
}
