//! The running site: worker threads, reload, the end.

use std::collections::HashMap;
use std::fmt;
use std::os::fd::OwnedFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;

use myriad_conf::model::WorkerProcesses;
use myriad_conf::{Diagnostic, Model};
use myriad_encode::{Pool, PoolOptions};
use myriad_files::FileCache;
use myriad_log::{LogWriter, Logs};
use myriad_net::{Acceptor, QuicPlace, Seats, Worker};
use myriad_policy::Command;
use myriad_store::DiskPool;
use parking_lot::Mutex;
use tokio::runtime::{Builder, LocalOptions};
use tokio::sync::mpsc as channel;

use crate::acme::Agents;
use crate::admin::Administrator;
use crate::compile::{self, Kept, Surroundings, TlsKept};
use crate::counters::{Counters, Snapshot};
use crate::failure::Failure;
use crate::keeping::Keeper;
use crate::passwords::Passwords;
use crate::purge::{self, Outcome, Refused};
use crate::quic::Quic;
use crate::runtime::Runtime;
use crate::service::SiteService;
use crate::shortage::{self, Room};
use crate::worker::{Generation, WorkerState};

/// How often zones and files are swept, and log buffers flushed.
const HOUSEKEEPING: Duration = Duration::from_secs(1);
/// Threads that read and write the files of all zones.
const DISK_THREADS: usize = 3;
/// How long exchanges that are broken off at the end have, to be logged.
const BREAKING_OFF: Duration = Duration::from_secs(1);
/// How long the end waits for pages that are still to be written.
const DISK_PATIENCE: Duration = Duration::from_secs(5);
/// The same where the process is to end at once.
const HALT_PATIENCE: Duration = Duration::from_millis(500);
/// Keys of a zone that one sweep looks at.
const SWEEP_BUDGET: usize = 4096;

/// What the supervisor opened for the worker process.
#[derive(Debug)]
pub struct Inherited {
    /// Listening sockets under the name of their address; several of one name with `reuseport`.
    pub listeners: Vec<(String, OwnedFd)>,
    /// What QUIC makes resets and connection IDs with, where no `quic_host_key` is written.
    pub quic_secret: Vec<u8>,
    /// The number of this process, modulo 256.
    pub process: u8,
    /// Log files under their absolute paths.
    pub logs: Vec<(PathBuf, OwnedFd)>,
    /// Certificates and keys, read by whoever may.
    pub tls_files: crate::TlsFiles,
    /// Who keeps what must outlive the process.
    pub keeper: Keeper,
    /// Keys of tickets that a process before this one used, by the life time of tickets, seconds.
    pub ticket_keys: HashMap<u32, Vec<u8>>,
    /// What relative paths start from.
    pub prefix: PathBuf,
    /// The folder of the main configuration file.
    pub folder: PathBuf,
}

/// Why a configuration could not be run.
#[derive(Debug)]
pub enum StartError {
    /// It has errors.
    Configuration(Vec<Diagnostic>),
    /// The machine would not give what it needs.
    System(std::io::Error),
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Configuration(errors) => {
                for (index, error) in errors.iter().enumerate() {
                    let separator = if index > 0 { "; " } else { "" };
                    write!(f, "{separator}{}", error.message)?;
                }
                Ok(())
            }
            Self::System(error) => write!(f, "{error}"),
        }
    }
}

impl std::error::Error for StartError {}

impl From<std::io::Error> for StartError {
    fn from(error: std::io::Error) -> Self {
        Self::System(error)
    }
}

/// Called when the last exchange of a configuration that was replaced has ended.
type Drained = Box<dyn FnOnce() + Send>;

enum Order {
    Run {
        runtime: Arc<Runtime>,
        sockets: Vec<Socket>,
        quic: Vec<QuicSockets>,
        /// When tunnels of the configuration before end (`worker_shutdown_timeout` of that one).
        tunnels_end: Option<Duration>,
        done: mpsc::Sender<std::io::Result<()>>,
    },
    /// What is busy with an earlier configuration has so long to end.
    EndStragglers(Duration),
    /// Logs that only the worker knows, those whose paths hold variables, are to be opened anew.
    Reopen,
    /// No more connections; what is under way has so long to end, any time where that is not limited.
    Quit(Option<Duration>),
}

struct Socket {
    number: u32,
    descriptor: OwnedFd,
}

/// A listener for QUIC, as one worker has it.
struct QuicSockets {
    descriptors: Vec<OwnedFd>,
    place: QuicPlace,
}

/// A running site.
pub struct Site {
    inner: Mutex<Inner>,
    logs: Logs,
    disks: DiskPool,
    shutdown_timeout: Mutex<Option<Duration>>,
    failure: Arc<Failure>,
}

struct Inner {
    kept: Kept,
    numbers: HashMap<String, u32>,
    quic: Quic,
    runtime: Arc<Runtime>,
    workers: Vec<WorkerThread>,
    agents: Agents,
}

struct WorkerThread {
    orders: channel::UnboundedSender<Order>,
    thread: JoinHandle<()>,
    counters: Arc<Counters>,
}

impl Site {
    /// Starts the worker threads; returns when every socket is accepted from.
    pub fn start(model: &Model, inherited: Inherited) -> Result<Self, StartError> {
        let logs = Logs::default();
        logs.take(inherited.logs);
        let tls = TlsKept::inheriting(inherited.ticket_keys, Arc::clone(&inherited.keeper));
        let mut kept = Kept { tls, ..Kept::default() };
        let mut numbers = HashMap::new();
        let sockets = number(inherited.listeners, &mut numbers);
        let surroundings = Surroundings {
            prefix: &inherited.prefix,
            folder: &inherited.folder,
            tls_files: &inherited.tls_files,
            listeners: &numbers,
            logs: &logs,
            kept: &mut kept,
        };
        let runtime = Arc::new(compile::compile(model, surroundings).map_err(StartError::Configuration)?);
        let quic = Quic::new(&inherited.quic_secret, inherited.process);
        let disks = DiskPool::start(DISK_THREADS)?;
        open_zones(&runtime, &disks, &inherited.keeper);
        let count = match model.main.worker_processes {
            WorkerProcesses::Count(count) => count as usize,
            WorkerProcesses::Auto => std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
        };
        let all_counters: Arc<[Arc<Counters>]> = (0..count).map(|_| Arc::default()).collect();
        let wanted = model.main.worker_connections as usize;
        let room = Room::fit(wanted, count, sockets.len(), &runtime.zone_log);
        let files = Arc::<FileCache>::default();
        files.keep_open(shortage::kept_files());
        let failure = Arc::<Failure>::default();
        let shared = Shared {
            room,
            failure: Arc::clone(&failure),
            all_counters,
            files,
            passwords: Arc::default(),
            encoder: Arc::new(Pool::start(&PoolOptions::default())?),
        };
        let mut workers = Vec::with_capacity(count);
        for index in 0..count {
            workers.push(WorkerThread::spawn(index, shared.clone())?);
        }
        let mut quic = quic;
        run(&workers, &runtime, &sockets, &mut quic, None)?;
        let mut agents = Agents::default();
        agents.follow(runtime.acme.as_deref(), &inherited.keeper)?;
        agents.staple(&runtime.staples, &runtime.zone_log)?;
        kept.tls.settle(&runtime.staples);
        let inner = Inner { kept, numbers, quic, runtime, workers, agents };
        Ok(Self {
            inner: Mutex::new(inner),
            logs,
            disks,
            shutdown_timeout: Mutex::new(model.main.worker_shutdown_timeout.map(Duration::from_millis)),
            failure,
        })
    }

    /// Swaps the configuration. Exchanges under way end with the one they began with; `drained` is called when the
    /// last of them has.
    pub fn reload(
        &self,
        model: &Model,
        inherited: Inherited,
        drained: Box<dyn FnOnce() + Send>,
    ) -> Result<(), StartError> {
        let mut inner = self.inner.lock();
        let inner = &mut *inner;
        self.logs.take(inherited.logs);
        let sockets = number(inherited.listeners, &mut inner.numbers);
        let surroundings = Surroundings {
            prefix: &inherited.prefix,
            folder: &inherited.folder,
            tls_files: &inherited.tls_files,
            listeners: &inner.numbers,
            logs: &self.logs,
            kept: &mut inner.kept,
        };
        let runtime = Arc::new(compile::compile(model, surroundings).map_err(StartError::Configuration)?);
        open_zones(&runtime, &self.disks, &inherited.keeper);
        let tunnels_end = *self.shutdown_timeout.lock();
        run(&inner.workers, &runtime, &sockets, &mut inner.quic, tunnels_end)?;
        inner.agents.follow(runtime.acme.as_deref(), &inherited.keeper)?;
        inner.agents.staple(&runtime.staples, &runtime.zone_log)?;
        inner.kept.tls.settle(&runtime.staples);
        inner.kept.acme.settle(runtime.acme.as_deref());
        inner.kept.zones.retain(|name, _| runtime.zones.contains_key(name));
        inner.kept.peers.prune();
        inner.kept.limits.settle(model.http.as_ref().map_or(&[], |http| &http.limit_zones));
        let next = model.main.worker_shutdown_timeout.map(Duration::from_millis);
        if let Some(after) = std::mem::replace(&mut *self.shutdown_timeout.lock(), next) {
            for worker in &inner.workers {
                // A worker that has ended has no connections.
                let _ = worker.orders.send(Order::EndStragglers(after));
            }
        }
        let previous = std::mem::replace(&mut inner.runtime, runtime);
        watch(previous, drained);
        Ok(())
    }

    /// Stops accepting; idle connections close at once, the others after their answer.
    pub fn quit(&self) {
        let mut inner = self.inner.lock();
        inner.agents.end();
        for worker in &inner.workers {
            // A worker that has ended already has no need of the order.
            let _ = worker.orders.send(Order::Quit(*self.shutdown_timeout.lock()));
        }
    }

    /// Whether a panic has ended what the process cannot do without; the signal TERM has been sent to it then.
    pub fn has_failed(&self) -> bool {
        self.failure.has_failed()
    }

    /// What all workers together have done since they started.
    pub fn counters(&self) -> Snapshot {
        let inner = self.inner.lock();
        inner.workers.iter().map(|worker| worker.counters.snapshot()).sum()
    }

    /// Purges in all zones, or in the one of that name.
    ///
    /// # Errors
    /// No such zone, a pattern that is no regex, a purge that could not be written down.
    pub async fn purge(&self, zone: Option<&str>, command: &Command) -> Result<Outcome, Refused> {
        let runtime = Arc::clone(&self.inner.lock().runtime);
        let zones: Vec<_> = match zone {
            None => runtime.zones.values().cloned().collect(),
            Some(name) => {
                vec![runtime.zones.get(name).cloned().ok_or_else(|| Refused::NoZone(name.to_owned()))?]
            }
        };
        purge::run(&zones, command, &[]).await
    }

    /// The zones as they are now, for who administers the site.
    pub fn administrator(&self) -> Administrator {
        Administrator::new(&self.inner.lock().runtime)
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
        let runtime = Arc::clone(&self.inner.lock().runtime);
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

    /// Writes to these files from now on.
    pub fn reopen(&self, logs: Vec<(PathBuf, OwnedFd)>) {
        self.logs.take(logs);
        for worker in &self.inner.lock().workers {
            // A worker that has ended holds no logs.
            let _ = worker.orders.send(Order::Reopen);
        }
    }
}

/// Opens the disk tiers of new zones, and gives the others their limits.
fn open_zones(runtime: &Runtime, disks: &DiskPool, keeper: &Keeper) {
    for (name, zone) in &runtime.zones {
        if let Some(limits) = runtime.disk_limits.get(name) {
            zone.open(*limits, disks, &runtime.zone_log, keeper);
        }
    }
}

/// Gives each address its number, the same over reloads.
fn number(listeners: Vec<(String, OwnedFd)>, numbers: &mut HashMap<String, u32>) -> Vec<Socket> {
    listeners
        .into_iter()
        .map(|(name, descriptor)| {
            let next = numbers.len() as u32;
            Socket { number: *numbers.entry(name).or_insert(next), descriptor }
        })
        .collect()
}

/// Has every worker run the site. Sockets of one address are dealt out among the workers where there are several
/// (`reuseport`); a single one is shared by all.
fn run(
    workers: &[WorkerThread],
    runtime: &Arc<Runtime>,
    sockets: &[Socket],
    quic: &mut Quic,
    tunnels_end: Option<Duration>,
) -> std::io::Result<()> {
    let (done, started) = mpsc::channel();
    for (index, worker) in workers.iter().enumerate() {
        let mut own = Vec::new();
        let mut own_quic: Vec<QuicSockets> = Vec::new();
        for (position, socket) in sockets.iter().enumerate() {
            let twins = sockets.iter().filter(|twin| twin.number == socket.number).count();
            let rank = sockets[..position].iter().filter(|twin| twin.number == socket.number).count();
            if twins == 1 || rank % workers.len() == index % twins.min(workers.len()) {
                let descriptor = socket.descriptor.try_clone()?;
                let Some(listener) = runtime.quic_listener(socket.number) else {
                    own.push(Socket { number: socket.number, descriptor });
                    continue;
                };
                match own_quic.iter_mut().find(|known| known.place.number == socket.number) {
                    Some(known) => known.descriptors.push(descriptor),
                    None => own_quic.push(QuicSockets {
                        descriptors: vec![descriptor],
                        place: quic.place(socket.number, listener, (index, workers.len()), twins),
                    }),
                }
            }
        }
        let order = Order::Run {
            runtime: Arc::clone(runtime),
            sockets: own,
            quic: own_quic,
            tunnels_end,
            done: done.clone(),
        };
        let _ = worker.orders.send(order);
    }
    drop(done);
    for _ in workers {
        started.recv().map_err(|_| std::io::Error::other("a worker thread has ended"))??;
    }
    Ok(())
}

/// Calls `drained` once nobody uses a replaced runtime any more.
fn watch(runtime: Arc<Runtime>, drained: Drained) {
    std::thread::spawn(move || {
        while Arc::strong_count(&runtime) > 1 {
            std::thread::sleep(Duration::from_millis(10));
        }
        drop(runtime);
        drained();
    });
}

#[derive(Clone)]
struct Shared {
    room: Room,
    failure: Arc<Failure>,
    all_counters: Arc<[Arc<Counters>]>,
    files: Arc<FileCache>,
    passwords: Arc<Passwords>,
    encoder: Arc<Pool>,
}

impl WorkerThread {
    fn spawn(index: usize, shared: Shared) -> std::io::Result<Self> {
        let (orders, inbox) = channel::unbounded_channel();
        let counters = Arc::clone(&shared.all_counters[index]);
        let own = Arc::clone(&counters);
        let thread = std::thread::Builder::new().name(format!("worker-{index}")).spawn(move || {
            let runtime = Builder::new_current_thread().enable_all().build_local(LocalOptions::default());
            match runtime {
                Ok(runtime) => {
                    let failure = Arc::clone(&shared.failure);
                    let life = AssertUnwindSafe(|| runtime.block_on(work(inbox, shared, own)));
                    if catch_unwind(life).is_err() {
                        eprintln!("myriad: [alert] a panic ended a worker thread");
                        failure.end_process();
                    }
                }
                Err(error) => eprintln!("myriad: [emerg] a worker thread could not start: {error}"),
            }
        })?;
        Ok(Self { orders, thread, counters })
    }
}

/// The life of a worker thread.
async fn work(mut inbox: channel::UnboundedReceiver<Order>, shared: Shared, counters: Arc<Counters>) {
    let number = shared.all_counters.iter().position(|all| Arc::ptr_eq(all, &counters));
    let seats = Seats::new(shared.room.connections);
    let state = Rc::new(WorkerState {
        // Its counters are among those of all: this is only to be total.
        number: number.unwrap_or(usize::MAX),
        origins: WorkerState::origins(&seats, &shared.files),
        files: shared.files,
        passwords: shared.passwords,
        seats,
        failure: shared.failure,
        logs: LogWriter::default(),
        encoder: shared.encoder,
        counters,
        all_counters: shared.all_counters,
    });
    let mut running: Option<(Rc<SiteService>, Worker<SiteService>)> = None;
    let mut acceptors: Vec<Acceptor> = Vec::new();
    let mut limit = None;
    while let Some(order) = inbox.recv().await {
        match order {
            Order::Quit(after) => {
                limit = after;
                break;
            }
            Order::EndStragglers(after) => {
                if let Some((_, worker)) = &running {
                    worker.end_stragglers(after);
                }
            }
            Order::Reopen => state.logs.reopen(),
            Order::Run { runtime, sockets, quic, tunnels_end, done } => {
                if let Some(after) = tunnels_end {
                    myriad_net::end_tunnels(after.as_millis() as u64);
                }
                let site = Rc::new(Generation::new(runtime, Rc::clone(&state)));
                let (service, worker) = if let Some((service, worker)) = running.take() {
                    service.replace(site);
                    myriad_net::deadline::renew();
                    (service, worker)
                } else {
                    let service = Rc::new(SiteService::new(site));
                    let flushed = Rc::clone(&state);
                    let flushing = async move { flushed.logs.keep_flushing().await };
                    myriad_net::spawn_vital(&service, "logs", flushing);
                    let chores = housekeeping(Rc::clone(&service), shared.room);
                    myriad_net::spawn_vital(&service, "housekeeping", chores);
                    (Rc::clone(&service), Worker::new(service, state.seats.clone()))
                };
                let accepted = accept(&worker, sockets, quic);
                running = Some((service, worker));
                let _ = done.send(accepted.map(|next| acceptors = next));
            }
        }
    }
    drop(acceptors);
    if let Some((_, worker)) = &running {
        match limit {
            None => worker.drain().await,
            Some(limit) if tokio::time::timeout(limit, worker.drain()).await.is_ok() => {}
            Some(_) => {
                // What is under way is broken off, and logged.
                worker.end_all();
                let _ = tokio::time::timeout(BREAKING_OFF, worker.drain()).await;
            }
        }
    }
    state.logs.flush(true);
}

/// Accepts from the sockets of a configuration; those of the one before are dropped once these are all there.
fn accept(
    worker: &Worker<SiteService>,
    sockets: Vec<Socket>,
    quic: Vec<QuicSockets>,
) -> std::io::Result<Vec<Acceptor>> {
    let streams = sockets.into_iter().map(|socket| worker.listen(socket.number, socket.descriptor));
    let quic = quic.into_iter().map(|sockets| worker.listen_quic(sockets.descriptors, sockets.place));
    streams.chain(quic).collect()
}

/// Sweeps zones and files, flushes logs, says what was short.
async fn housekeeping(service: Rc<SiteService>, room: Room) {
    loop {
        tokio::time::sleep(HOUSEKEEPING).await;
        let site = service.current();
        site.worker.logs.flush(false);
        shortage::report(&site.worker.seats, room, &site.runtime.zone_log);
        let now = myriad_net::clock::now_ms();
        site.worker.files.sweep(now);
        for zone in site.runtime.zones.values() {
            zone.zone.sweep(now, SWEEP_BUDGET);
            purge::tend(zone, &site.runtime.zone_log);
        }
    }
}
