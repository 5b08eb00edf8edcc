//! Thread of a node.

use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use myriad_cluster::limits::LimitExchange;
use myriad_cluster::node::{
    ClusterEvent, ClusterNode, NodeCounters, NodeSettings, NodeStart, NodeTimings,
    PartitionPolicy as NodePolicy,
};
use myriad_cluster::record::{ClusterSecret, NameError, NodeName, StartId};
use myriad_log::{ErrorLog, LogLevel};
use myriad_store::page::{AnnouncedPurge, PageZone};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::driver::{DriverResources, drive};
use super::exchanged_state::ExchangedState;
use super::input::{Input, clock_ms};
use super::limits::LimitSharing;
use super::options::ClusterOptions;
use super::position_file::{PositionFile, StoredPosition};
use super::publisher::NodeHandle;
use super::settings::PartitionPolicy;
use super::start_state::StartState;
use super::zones::{ClusterZones, identity};
use crate::admin::block_on;

/// Maximum time that a stopping process waits for the node to stop.
const STOP_TIMEOUT: Duration = Duration::from_secs(3);

/// Node that can be started without a possible failure: its thread exists, and waits.
pub(super) struct PreparedNode {
    handle: NodeHandle,
    settings: NodeSettings,
    start: StartId,
    seed: u64,
    node: Sender<(ClusterNode, DriverResources)>,
    thread: JoinHandle<()>,
}

/// Running node. Its thread runs until [`Self::stop`].
pub(super) struct NodeThread {
    handle: NodeHandle,
    start_state: Arc<StartState>,
    thread: JoinHandle<()>,
}

impl PreparedNode {
    /// Prepares a node. Its thread terminates if this value is dropped.
    ///
    /// # Errors
    /// Returns an error if a name is invalid, or the thread cannot be started.
    pub(super) fn new(options: ClusterOptions) -> io::Result<Self> {
        let settings = node_settings(&options)?;
        let (inputs, queue) = unbounded_channel();
        let (node, start) = channel();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let own_inputs = inputs.clone();
        let run = move |queue: UnboundedReceiver<Input>| {
            // Fails if the prepared node was dropped.
            if let Ok((node, resources)) = start.recv() {
                runtime.block_on(drive(node, resources, own_inputs, queue));
            }
        };
        let thread = std::thread::Builder::new().name("cluster".to_owned()).spawn(move || run(queue))?;
        Ok(Self {
            handle: NodeHandle {
                inputs,
                options: Arc::new(options),
                last_status: Arc::default(),
                server: Arc::default(),
            },
            settings,
            start: StartId(random()?),
            seed: u64::from_le_bytes(random()?),
            node,
            thread,
        })
    }

    /// Returns the handle for the publisher. The node handles its inputs once it is started.
    pub(super) fn handle(&self) -> NodeHandle {
        self.handle.clone()
    }

    /// Returns the secret of the node's cluster.
    pub(super) fn secret(&self) -> &ClusterSecret {
        &self.settings.secret
    }

    /// Returns true if another node belongs to the same cluster, and has the same secret.
    pub(super) fn has_same_secret(&self, other: &NodeThread) -> bool {
        let (own, other) = (&self.handle.options, other.options());
        own.name == other.name && own.secret == other.secret
    }

    /// Starts the node, which belongs to the cluster from now on. The position in the purge log is stored in the folder
    /// of the first zone; without a zone, it is not stored. Pages of zones that are not in the position file become
    /// stale. `has_pages` is true if zones have pages in memory. The node continues the counters of its predecessor.
    pub(super) fn start(
        self,
        zones: &Arc<ClusterZones>,
        exchanged: &ExchangedState,
        has_pages: bool,
        counters: NodeCounters,
        log: &ErrorLog,
    ) -> NodeThread {
        let Self { handle, settings, start, seed, node, thread } = self;
        let options = Arc::clone(&handle.options);
        let all = zones.all();
        let stored = read_position(&all, &options.name, log);
        if let Some(stored) = &stored {
            let is_stored = |zone: &PageZone| stored.zones.contains(&identity(zone));
            let missed = all.iter().filter(|zone| !is_stored(zone));
            for zone in missed.filter(|zone| has_pages || has_files(&zone.folder.path)) {
                block_on(zones.expire_missed(zone, log));
            }
        }
        let has_pages = has_pages || all.iter().any(|zone| has_files(&zone.folder.path));
        let stored = stored.map(|stored| stored.position);
        let node_start = NodeStart { start, boot: boot_id(), stored, has_pages, seed, counters };
        let start_state = Arc::new(StartState::default());
        let create = || LimitExchange::new(settings.secret.clone(), settings.node.clone(), start);
        let exchange = exchanged.limits.exchange(&options, create);
        let resources = DriverResources {
            options,
            secret: settings.secret.clone(),
            start,
            limits: LimitSharing { limits: Arc::clone(&exchanged.limits), exchange },
            zones: Arc::clone(zones),
            ticket_keys: Arc::clone(&exchanged.ticket_keys),
            certificates: Arc::clone(&exchanged.certificates),
            log: log.clone(),
            start_state: Arc::clone(&start_state),
            last_status: Arc::clone(&handle.last_status),
            server: Arc::clone(&handle.server),
        };
        // Fails if the thread has panicked.
        let _ = node.send((ClusterNode::new(settings, node_start, clock_ms()), resources));
        NodeThread { handle, start_state, thread }
    }
}

impl NodeThread {
    /// Returns the handle for the publisher.
    pub(super) fn handle(&self) -> NodeHandle {
        self.handle.clone()
    }

    /// Notes that purges may have been executed in zones that were not sent ([`ClusterZones::announce_gap`]).
    pub(super) fn note_gap(&self, announced: Vec<AnnouncedPurge>) {
        // Fails if the thread has panicked.
        let _ = self.handle.inputs.send(Input::Gap(announced));
    }

    /// Returns the options with which the node was started.
    pub(super) fn options(&self) -> &ClusterOptions {
        &self.handle.options
    }

    /// Waits until the node has executed all purges that it missed while it was stopped, or until the pages that may
    /// have missed a purge are stale, for at most `timeout`.
    pub(super) fn wait_until_ready(&self, timeout: Duration) {
        self.start_state.wait(timeout);
    }

    /// Stops the node and waits for at most three seconds. `is_leaving` is true if the node leaves the cluster until
    /// its next start, and false if a successor takes over its name. Returns the node's counters, if it has started.
    pub(super) fn stop(self, is_leaving: bool) -> Option<NodeCounters> {
        let Self { handle, thread, .. } = self;
        let _ = handle.inputs.send(Input::Event(ClusterEvent::Shutdown { is_leaving }));
        let (done, waiting) = channel();
        // A separate thread joins the node's thread, so that `stop` returns after [`STOP_TIMEOUT`] even if the node's
        // thread is still running.
        std::thread::spawn(move || {
            let _ = thread.join();
            let _ = done.send(());
        });
        let _ = waiting.recv_timeout(STOP_TIMEOUT);
        handle.last_status.lock().as_ref().map(|status| status.counters)
    }
}

fn node_settings(options: &ClusterOptions) -> io::Result<NodeSettings> {
    let invalid = |name: &str, error: NameError| {
        io::Error::other(format!("invalid name \"{name}\" in \"cluster\": {error}"))
    };
    let cluster = NodeName::new(&options.name).map_err(|error| invalid(&options.name, error))?;
    let node = NodeName::new(&options.node).map_err(|error| invalid(&options.node, error))?;
    let secret = ClusterSecret::new(&cluster, &options.secret)
        .ok_or_else(|| io::Error::other("the secret of the cluster is too short"))?;
    Ok(NodeSettings {
        node,
        secret,
        partition: match options.partition {
            PartitionPolicy::Serve(bound_ms) => NodePolicy::Serve { bound_ms },
            PartitionPolicy::Strict => NodePolicy::Strict,
        },
        address: options.hostname.clone(),
        servers: options.servers.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
        software: env!("CARGO_PKG_VERSION").to_owned(),
        timings: NodeTimings::default(),
    })
}

/// Returns random bytes of the operating system.
fn random<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    let mut filled = 0;
    while filled < N {
        filled += rustix::rand::getrandom(&mut bytes[filled..], rustix::rand::GetRandomFlags::empty())?;
    }
    Ok(bytes)
}

/// Returns the identifier of the machine's boot; zeros if the kernel does not report it.
fn boot_id() -> [u8; 16] {
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let digits: String = text.chars().filter(char::is_ascii_hexdigit).collect();
    u128::from_str_radix(&digits, 16).unwrap_or_default().to_be_bytes()
}

/// Reads the position file: that in the folder of the first zone, or after a change of the zones, that in the folder of
/// another one. An unreadable file is logged and counts as missing. Without a file, all stored pages become stale.
///
/// A file of an earlier change may be found: its position is then too old, so that purges are executed again.
fn read_position(zones: &[Arc<PageZone>], cluster: &str, log: &ErrorLog) -> Option<StoredPosition> {
    zones.iter().find_map(|zone| {
        let file = PositionFile::within(&zone.folder.path, cluster);
        file.read().unwrap_or_else(|error| {
            let path = file.path().display();
            let text = format_args!("cluster: cannot read \"{path}\" ({error})");
            log.write(LogLevel::Error, None, text);
            None
        })
    })
}

/// Returns true if the folder of a zone contains pages (files or folders whose name does not begin with a dot), or cannot
/// be read.
fn has_files(folder: &Path) -> bool {
    match fs::read_dir(folder) {
        Ok(entries) => entries.flatten().any(|entry| !entry.file_name().as_bytes().starts_with(b".")),
        Err(error) => error.kind() != io::ErrorKind::NotFound,
    }
}
