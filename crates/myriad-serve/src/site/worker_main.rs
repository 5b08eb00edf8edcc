//! Main function of a worker thread: executes commands, runs periodic tasks, shuts down.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use crate::streams::{StreamRuntime, WorkerStreams};
use myriad_encode::CompressionPool;
use myriad_files::FileCache;
use myriad_log::{LogLevel, LogWriter, Logs};
use myriad_net::{Acceptor, ConnectionLimiter, ConnectionWorker};
use myriad_origin::{health_check, post_action, protocols};
use myriad_upstream::{HealthLogger, UnresolvedLogger};
use tokio::sync::mpsc as channel;
use tokio::task::JoinHandle;

use super::memory;
use super::refresh_ahead::refresh_ahead;
use super::worker_command::{ListenSocket, WorkerCommand, WorkerQuicSockets};
use crate::phases::Phases;
use crate::service::SiteService;
use crate::worker_capacity::{self, WorkerCapacity};
use myriad_admin::purge;
use myriad_exchange::counters::Counters;
use myriad_exchange::failure::ProcessFailure;
use myriad_exchange::observation::{SiteObservation, WorkerObservation};
use myriad_exchange::runtime::Generation;
use myriad_exchange::runtime::Runtime;
use myriad_exchange::worker::WorkerState;

/// Interval at which a worker removes outdated entries from zones and file caches, and flushes log buffers.
const HOUSEKEEPING: Duration = Duration::from_secs(1);
/// Maximum time for logging the exchanges, or the UDP sessions of `stream`, that are aborted at shutdown.
pub(super) const ABORT_TIME: Duration = Duration::from_secs(1);
/// Maximum number of cache keys that one sweep of a zone checks for inactive pages.
const SWEEP_BUDGET: usize = 4096;

/// Resources of the process that all workers share.
#[derive(Clone)]
pub(super) struct WorkerShared {
    /// Maximum number of connections of each worker.
    pub capacity: WorkerCapacity,
    /// Flag that a thread sets if a panic terminates it; the process then exits.
    pub failure: Arc<ProcessFailure>,
    /// Request and connection counters of all workers, by worker number.
    pub all_counters: Arc<[Arc<Counters>]>,
    /// Logs of the process.
    pub logs: Arc<Logs>,
    /// Cache of path states, file contents and open files.
    pub files: Arc<FileCache>,
    /// Threads of background compression.
    pub encoder: Arc<CompressionPool>,
    /// Data for monitoring that requests update: rankings of pages, live events.
    pub sight: Arc<SiteObservation>,
}

/// Runs a worker thread until the site shuts down.
pub(super) async fn run_worker(
    mut inbox: channel::UnboundedReceiver<WorkerCommand>,
    shared: WorkerShared,
    counters: Arc<Counters>,
) {
    let state = worker_state(&shared, counters);
    let mut running: Option<(Rc<SiteService>, ConnectionWorker<SiteService>)> = None;
    let mut acceptors: Vec<Acceptor> = Vec::new();
    let mut receivers: Vec<WorkerTask> = Vec::new();
    let (mut limit, mut refreshing) = (None, None);
    while let Some(order) = inbox.recv().await {
        let Some(order) = handle_command(order, &state, running.as_ref().map(|(service, _)| &**service))
        else {
            continue;
        };
        match order {
            WorkerCommand::Quit(after) => {
                limit = after;
                break;
            }
            WorkerCommand::EndStragglers(after) => {
                if let Some((_, worker)) = &running {
                    worker.close_stragglers(after);
                }
            }
            WorkerCommand::Run { runtime, streams, sockets, quic, datagrams, tunnels_end, done } => {
                if let Some(after) = tunnels_end {
                    myriad_net::close_tunnels(after.as_millis() as u64);
                }
                start_name_lookups(&runtime, streams.as_deref());
                let streams = streams.map(|streams| WorkerStreams::new(streams, Rc::clone(&state)));
                let site = Rc::new(Generation::new(runtime, Rc::clone(&state), &Phases));
                start_health_checks(&site, streams.as_ref());
                let (service, worker) = if let Some((service, worker)) = running.take() {
                    service.replace(site, streams.clone());
                    myriad_net::deadline::start_epoch();
                    (service, worker)
                } else {
                    let started = start_service(site, streams.clone(), shared.capacity, &shared.logs);
                    refreshing = start_refreshing(&started.0, &state);
                    started
                };
                let accepted = accept(&worker, sockets, quic);
                let received = receive_datagrams(&service, streams.as_ref(), datagrams);
                running = Some((service, worker));
                let began = accepted.and_then(|next| received.map(|tasks| (next, tasks)));
                let _ = done.send(began.map(|(next, tasks)| {
                    acceptors = next;
                    receivers = tasks;
                }));
            }
            // [`handle_command`] has already executed these commands.
            WorkerCommand::FreeMemory(_) | WorkerCommand::Reopen | WorkerCommand::FlushLogs(_) => {}
        }
    }
    drop((acceptors, receivers, refreshing));
    if let Some((service, worker)) = &running {
        // Commands are executed until the shutdown is complete, because exchanges may last for hours.
        let attending = tokio::task::spawn_local(handle_commands_during_shutdown(
            inbox,
            Rc::clone(&state),
            Rc::clone(service),
        ));
        finish_exchanges(worker, limit).await;
        attending.abort();
    }
    let none_is_left = async {
        while crate::streams::sessions() > 0 {
            tokio::task::yield_now().await;
        }
    };
    let _ = tokio::time::timeout(ABORT_TIME, none_is_left).await;
    state.logs.finish();
    if let Some((service, _)) = &running {
        shared.logs.maintain(u64::MAX, &service.current().runtime.zone_log);
    }
}

/// Creates the state of a worker. Its number is the position of its `counters` in `all_counters`.
fn worker_state(shared: &WorkerShared, counters: Arc<Counters>) -> Rc<WorkerState> {
    let number = shared.all_counters.iter().position(|all| Arc::ptr_eq(all, &counters));
    let limiter = ConnectionLimiter::new(shared.capacity.connections);
    // The counters are always in the list; the fallback only avoids a panic.
    let number = number.unwrap_or(usize::MAX);
    Rc::new(WorkerState {
        number,
        origins: WorkerState::origins(&limiter, &shared.files),
        files: Arc::clone(&shared.files),
        connection_limiter: limiter,
        failure: Arc::clone(&shared.failure),
        logs: LogWriter::new(Arc::clone(shared.logs.threads())),
        encoder: Arc::clone(&shared.encoder),
        counters,
        all_counters: Arc::clone(&shared.all_counters),
        observation: WorkerObservation::new(Arc::clone(&shared.sight), number),
    })
}

/// Creates the service of a worker with its first configuration, and starts its periodic tasks.
fn start_service(
    site: Rc<Generation>,
    streams: Option<Rc<WorkerStreams>>,
    room: WorkerCapacity,
    logs: &Arc<Logs>,
) -> (Rc<SiteService>, ConnectionWorker<SiteService>) {
    let state = Rc::clone(&site.worker);
    let service = Rc::new(SiteService::new(site, streams));
    let flushed = Rc::clone(&state);
    myriad_net::spawn_vital(&service, "logs", async move { flushed.logs.keep_flushing().await });
    let chores = housekeeping(Rc::clone(&service), room, Arc::clone(logs));
    myriad_net::spawn_vital(&service, "housekeeping", chores);
    (Rc::clone(&service), ConnectionWorker::new(service, state.connection_limiter.clone()))
}

/// Starts the task that refreshes pages without a request; on workers other than the first, returns `None`.
fn start_refreshing(service: &Rc<SiteService>, state: &WorkerState) -> Option<WorkerTask> {
    let refreshed = || myriad_net::spawn_vital(service, "refresh", refresh_ahead(Rc::clone(service)));
    (state.number == 0).then(|| WorkerTask(refreshed()))
}

/// Waits until the exchanges in progress and their post-actions have finished. After `limit`, aborts the remaining
/// exchanges, which are then logged.
async fn finish_exchanges(worker: &ConnectionWorker<SiteService>, limit: Option<Duration>) {
    let end = async {
        worker.drain().await;
        post_action::wait_until_idle().await;
    };
    match limit {
        None => end.await,
        Some(limit) if tokio::time::timeout(limit, end).await.is_ok() => {}
        Some(_) => {
            worker.close_all();
            let _ = tokio::time::timeout(ABORT_TIME, worker.drain()).await;
        }
    }
}

/// Executes commands during shutdown. Commands that apply only to a running worker are ignored.
async fn handle_commands_during_shutdown(
    mut inbox: channel::UnboundedReceiver<WorkerCommand>,
    state: Rc<WorkerState>,
    service: Rc<SiteService>,
) {
    while let Some(order) = inbox.recv().await {
        handle_command(order, &state, Some(&service));
    }
}

/// Executes a command that applies to every worker, also during shutdown, and returns `None`. Returns any other command
/// unexecuted.
fn handle_command(
    order: WorkerCommand,
    state: &WorkerState,
    service: Option<&SiteService>,
) -> Option<WorkerCommand> {
    match order {
        WorkerCommand::FreeMemory(stage) => {
            if let Some(service) = service {
                memory::relieve(state, &service.current().runtime.pressure, stage);
            }
        }
        WorkerCommand::Reopen => state.logs.reopen(),
        WorkerCommand::FlushLogs(done) => {
            state.logs.flush(true);
            let _ = done.send(());
        }
        order @ (WorkerCommand::Run { .. } | WorkerCommand::EndStragglers(_) | WorkerCommand::Quit(_)) => {
            return Some(order);
        }
    }
    None
}

/// Task of a worker. Dropping this handle aborts the task.
struct WorkerTask(JoinHandle<()>);

impl Drop for WorkerTask {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Starts receiving from the UDP sockets of the `stream` block, and returns the tasks; none without a `stream` block.
/// Fails if a socket cannot be used.
fn receive_datagrams(
    service: &Rc<SiteService>,
    streams: Option<&Rc<WorkerStreams>>,
    sockets: Vec<ListenSocket>,
) -> std::io::Result<Vec<WorkerTask>> {
    let Some(streams) = streams else { return Ok(Vec::new()) };
    let begin = |socket: ListenSocket| {
        let received = streams.receive(socket.number, socket.descriptor)?;
        Ok(WorkerTask(myriad_net::spawn_vital(service, "datagrams", received)))
    };
    sockets.into_iter().map(begin).collect()
}

/// Starts the periodic resolution of host names in upstream groups, except those that another worker already resolves.
fn start_name_lookups(runtime: &Runtime, streams: Option<&StreamRuntime>) {
    let log = runtime.zone_log.clone();
    let log_unresolved: UnresolvedLogger =
        Rc::new(move |why| log.write(LogLevel::Error, None, format_args!("{why}")));
    for group in runtime.groups.values() {
        group.group.follow_names(&log_unresolved);
    }
    if let Some(streams) = streams {
        streams.start_resolving(&log_unresolved);
    }
}

/// Starts the health checks of upstream groups (`health_check`), except those that another worker already performs.
fn start_health_checks(site: &Rc<Generation>, streams: Option<&Rc<WorkerStreams>>) {
    let log = site.runtime.zone_log.clone();
    let log_health: HealthLogger = Rc::new(move |is_healthy, what| {
        let level = if is_healthy { LogLevel::Notice } else { LogLevel::Warn };
        log.write(level, None, format_args!("{what}"));
    });
    health_check::begin(site, &log_health);
    protocols::begin(site, &log_health);
    if let Some(streams) = streams {
        streams.begin_checks(&log_health);
    }
}

/// Accepts connections on the sockets of a configuration. Fails if one of them cannot be used. The caller drops the
/// previous sockets once this has succeeded.
fn accept(
    worker: &ConnectionWorker<SiteService>,
    sockets: Vec<ListenSocket>,
    quic: Vec<WorkerQuicSockets>,
) -> std::io::Result<Vec<Acceptor>> {
    let streams = sockets.into_iter().map(|socket| worker.listen(socket.number, socket.descriptor));
    let quic = quic.into_iter().map(|sockets| worker.listen_quic(sockets.descriptors, sockets.place));
    streams.chain(quic).collect()
}

/// Periodic task of a worker, once per second: flushes logs, measures the worker's memory, removes outdated entries
/// from zones and file caches, continues purges, and reports shortages of connections. The first worker also maintains
/// the log files.
async fn housekeeping(service: Rc<SiteService>, room: WorkerCapacity, logs: Arc<Logs>) {
    loop {
        tokio::time::sleep(HOUSEKEEPING).await;
        myriad_net::clock::synchronize();
        let site = service.current();
        site.worker.logs.flush(false);
        memory::measure(&site.worker);
        worker_capacity::report(&site.worker.connection_limiter, room, &site.runtime.zone_log);
        let now = myriad_net::clock::now_ms();
        if site.worker.number == 0 {
            logs.maintain(now, &site.runtime.zone_log);
        }
        site.worker.files.sweep(now);
        for zone in site.runtime.zones.values() {
            zone.zone.sweep(now, SWEEP_BUDGET);
            purge::advance_purges(zone, &site.runtime.zone_log);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{block_on, compiled, new_generation};
    use myriad_base::memory::PressureStage;

    #[test]
    fn worker_that_ends_gives_back_memory_and_lines_still() {
        let text = "events {} http { error_log off; server { listen 127.0.0.1:8080; } }";
        let site = new_generation(compiled(std::path::Path::new("/nowhere"), text));
        let state = Rc::clone(&site.worker);
        // Stale value, which is overwritten when resources are freed.
        state.counters.memory.connections.set(7);
        let (orders, inbox) = channel::unbounded_channel();
        let (done, left) = std::sync::mpsc::channel();
        for order in [
            WorkerCommand::EndStragglers(HOUSEKEEPING),
            WorkerCommand::FreeMemory(PressureStage::Closing),
            WorkerCommand::FlushLogs(done),
        ] {
            assert!(orders.send(order).is_ok());
        }
        drop(orders);
        block_on(handle_commands_during_shutdown(
            inbox,
            Rc::clone(&state),
            Rc::new(SiteService::new(site, None)),
        ));
        assert_eq!((state.counters.memory.connections.get(), left.recv()), (0, Ok(())));
    }
}
