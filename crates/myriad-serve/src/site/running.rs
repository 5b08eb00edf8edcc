//! [`RunningSite`]: start of the site, and queries of its state.

use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::streams::StreamRuntime;
use myriad_conf::Model;
use myriad_conf::model::WorkerProcesses;
use myriad_encode::{CompressionPool, PoolOptions};
use myriad_files::FileCache;
use myriad_log::Logs;
use myriad_policy::PurgeCommand;
use myriad_store::DiskPool;
use parking_lot::Mutex;

use super::cluster::ClusterHandle;
use super::history_file::history_path;
use super::inherited_resources::InheritedResources;
use super::memory::{MemoryWatcherHandle, WatchedResources};
use super::observer::ObserverHandle;
use super::replaced_configs::ReplacedConfigs;
use super::sockets::{assign_numbers, run_on_workers};
use super::start_error::StartError;
use super::worker_command::WorkerCommand;
use super::worker_main::WorkerShared;
use super::worker_thread::WorkerThread;
use crate::acme::{AcmeAgents, AgentEnvironment};
use crate::compile::{self, CompileEnvironment, RetainedState};
use crate::quic::Quic;
use crate::temporary_thread::run_on_temporary_thread;
use crate::worker_capacity::{self, WorkerCapacity};
use myriad_admin::admin::Administrator;
use myriad_admin::purge::{self, PurgeFailure, PurgeResult};
use myriad_exchange::counters::Snapshot;
use myriad_exchange::failure::ProcessFailure;
use myriad_exchange::observation::SiteObservation;
use myriad_exchange::runtime::Runtime;
use myriad_exchange::state_storage::SharedStateStorage;
use myriad_exchange::traffic::Traffic;
use myriad_store::page::PurgeSource;

/// Number of threads that read and write the files of all cache zones.
const DISK_THREADS: usize = 3;

/// Returns the number of worker threads: with `auto`, the number of processors that the process may use.
fn worker_count(setting: WorkerProcesses) -> usize {
    match setting {
        WorkerProcesses::Count(count) => count as usize,
        WorkerProcesses::Auto => std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
    }
}

/// The running site: worker threads, zones, logs and the current configuration.
pub struct RunningSite {
    /// State that a reload changes, locked while it does.
    pub(super) inner: Mutex<SiteState>,
    /// Log files, by path.
    pub(super) logs: Arc<Logs>,
    /// Threads that read and write the files of zones.
    pub(super) disks: DiskPool,
    /// `worker_shutdown_timeout` of the running configuration; `None` without a limit.
    pub(super) shutdown_timeout: Mutex<Option<Duration>>,
    failure: Arc<ProcessFailure>,
}

/// State that a reload replaces or retains.
pub(super) struct SiteState {
    /// State that is passed on to the next configuration.
    pub retained: RetainedState,
    /// Listener number of each address that has ever been listened on; numbers are never reused.
    pub numbers: HashMap<String, u32>,
    /// QUIC state that a reload passes on to the next configuration; empty in builds without HTTP/3.
    pub quic: Quic,
    /// Current configuration, compiled.
    pub runtime: Arc<Runtime>,
    /// Compiled `stream` block of the current configuration; `None` if it has none.
    pub streams: Option<Arc<StreamRuntime>>,
    /// Worker threads; empty after the shutdown.
    pub workers: Vec<WorkerThread>,
    /// Threads that renew ACME certificates and OCSP responses.
    pub agents: AcmeAgents,
    /// Thread that publishes live events and records the history.
    pub observer: ObserverHandle,
    /// Thread that enforces `memory_limit`.
    pub memory_watcher: MemoryWatcherHandle,
    /// Node of the cluster, if the configuration has one.
    pub cluster: ClusterHandle,
    /// Replaced configurations that exchanges still use.
    pub replaced: ReplacedConfigs,
}

impl RunningSite {
    /// Compiles the configuration and starts the worker threads. Returns once connections are accepted on every socket,
    /// or an error if the configuration is invalid or a system resource is not available.
    pub fn start(model: &Model, inherited: InheritedResources) -> Result<Self, StartError> {
        let logs = Arc::<Logs>::default();
        logs.take(inherited.logs);
        let keeper = Arc::clone(&inherited.keeper) as _;
        let tls = myriad_tls::TlsReloadState::with_inherited_keys(inherited.ticket_keys, keeper);
        let count = worker_count(model.main.worker_processes);
        let mut retained =
            RetainedState { tls, traffic: Arc::new(Traffic::new(count)), ..RetainedState::default() };
        let mut numbers = HashMap::new();
        let sockets = assign_numbers(inherited.listeners, &mut numbers);
        let surroundings = CompileEnvironment {
            prefix: &inherited.prefix,
            folder: &inherited.folder,
            tls_files: &inherited.tls_files,
            listeners: &numbers,
            logs: &logs,
            retained: &mut retained,
        };
        let (runtime, streams) = run_on_temporary_thread(|| compile::compile_all(model, surroundings))
            .map_err(StartError::Configuration)?;
        let mut quic = Quic::new(&inherited.quic_secret, inherited.process, Arc::clone(&inherited.relay));
        let disks = DiskPool::start(DISK_THREADS)?;
        open_zones(&runtime, &disks, &inherited.keeper);
        let cluster = ClusterHandle::start(model, &inherited.folder, &runtime, &retained)?;
        let wanted = model.main.worker_connections as usize;
        let room = WorkerCapacity::fit(wanted, count, sockets.len(), &runtime.zone_log);
        let files = Arc::<FileCache>::default();
        files.keep_open(worker_capacity::max_cached_files());
        let failure = Arc::<ProcessFailure>::default();
        let sight = Arc::new(SiteObservation::new(count, myriad_net::clock::now_ms()));
        let encoder = Arc::new(CompressionPool::start(&PoolOptions::default())?);
        let shared = WorkerShared {
            capacity: room,
            failure: Arc::clone(&failure),
            all_counters: Arc::clone(&retained.traffic.workers),
            logs: Arc::clone(&logs),
            files: Arc::clone(&files),
            encoder: Arc::clone(&encoder),
            sight: Arc::clone(&sight),
        };
        let workers: Vec<_> =
            (0..count).map(|index| WorkerThread::spawn(index, shared.clone())).collect::<Result<_, _>>()?;
        *sight.sources.lock() = inherited.sources.into();
        let history = history_path(model, &inherited.prefix);
        let observing = ObserverHandle::begin(sight, &runtime, history)?;
        let subject = WatchedResources {
            pressure: Arc::clone(&runtime.pressure),
            files,
            encoder,
            disks: disks.clone(),
            workers: workers.iter().map(|worker| worker.commands.clone()).collect(),
        };
        let environment = AgentEnvironment { storage: &inherited.keeper, coordinator: cluster.coordinator() };
        let (mut agents, prepared_agents) = AcmeAgents::begin(&runtime, &environment)?;
        run_on_workers(&workers, (&runtime, streams.as_ref()), &sockets, &mut quic, None)?;
        inherited.relay.start_reading_inbox()?;
        cluster.share_certificates(&runtime, &inherited.keeper);
        agents.apply_plan(prepared_agents, &runtime, &environment);
        retained.tls.drop_unused(runtime.staples.iter().map(|planned| &planned.staple));
        let watching = MemoryWatcherHandle::begin(subject, &runtime, model.main.memory_limit)?;
        retained.generations += 1;
        let inner = SiteState {
            retained,
            numbers,
            quic,
            runtime,
            streams,
            workers,
            agents,
            observer: observing,
            memory_watcher: watching,
            cluster,
            replaced: ReplacedConfigs::default(),
        };
        Ok(Self {
            inner: Mutex::new(inner),
            logs,
            disks,
            shutdown_timeout: Mutex::new(model.main.worker_shutdown_timeout.map(Duration::from_millis)),
            failure,
        })
    }

    /// Returns whether a panic has terminated a thread that the process needs. The process has then sent itself
    /// SIGTERM.
    pub fn has_failed(&self) -> bool {
        self.failure.has_failed()
    }

    /// Returns the sum of the counters of all workers since they started.
    pub fn counters(&self) -> Snapshot {
        let inner = self.inner.lock();
        inner.workers.iter().map(|worker| worker.counters.snapshot()).sum()
    }

    /// Executes a purge in the zone named `zone`; `None` for all zones.
    ///
    /// # Errors
    /// The zone does not exist, the pattern is invalid, too many purges are active, or the purge could not be saved.
    pub async fn purge(
        &self,
        zone: Option<&str>,
        command: &PurgeCommand,
    ) -> Result<PurgeResult, PurgeFailure> {
        let runtime = Arc::clone(&self.inner.lock().runtime);
        let zones: Vec<_> = match zone {
            None => runtime.zones.values().cloned().collect(),
            Some(name) => {
                vec![runtime.zones.get(name).cloned().ok_or_else(|| PurgeFailure::NoZone(name.to_owned()))?]
            }
        };
        let completed = purge::run(&zones, command, &[], PurgeSource::Administrator).await?;
        Ok(completed.outcome)
    }

    /// Returns a handle for administering the zones of the current configuration.
    pub fn administrator(&self) -> Administrator {
        let inner = self.inner.lock();
        Administrator::new(&inner.runtime).with_sight(inner.observer.sight())
    }

    /// Replaces the open log files by the files in `logs`, each given with its path, and sends the workers a command to
    /// use them too.
    pub fn reopen(&self, logs: Vec<(PathBuf, OwnedFd)>) {
        self.logs.take(logs);
        for worker in &self.inner.lock().workers {
            // Fails if the worker has exited; it then has no open logs.
            let _ = worker.commands.send(WorkerCommand::Reopen);
        }
    }
}

/// Opens the disk tiers of new zones, and updates the disk limits of existing ones.
pub(super) fn open_zones(runtime: &Runtime, disks: &DiskPool, keeper: &SharedStateStorage) {
    for (name, zone) in &runtime.zones {
        if let Some(limits) = runtime.disk_limits.get(name) {
            zone.open(*limits, disks, &runtime.zone_log, Arc::clone(keeper) as _);
        }
    }
}
