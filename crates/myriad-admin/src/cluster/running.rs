//! A node of a cluster as part of a running server: its thread, and the handle by which zones publish purges.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::thread::JoinHandle;
use std::time::Duration;

use myriad_cluster::node::{
    ClusterEvent, ClusterNode, NodeSettings, NodeStart, NodeStatus, NodeTimings,
    PartitionPolicy as NodePolicy, PurgeAnswer, PurgeTicket,
};
use myriad_cluster::record::{ClusterSecret, NameError, NodeName, StartId};
use myriad_log::{ErrorLog, LogLevel};
use myriad_store::page::{PageZone, PublisherStatus, PurgePublisher, PurgeReceipts, ReceiptsFuture};
use parking_lot::Mutex;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;

use super::driver::{DriverResources, drive};
use super::input::{Input, clock_ms};
use super::options::ClusterOptions;
use super::position_file::PositionFile;
use super::settings::PartitionPolicy;
use super::start_state::StartState;
use super::status::publisher_status;
use super::zones::ClusterZones;

/// Maximum time that a stopping process waits for the node to stop.
const STOP_TIMEOUT: Duration = Duration::from_secs(3);
/// Maximum time for the start of the node.
const START_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum time for the status of the node.
const STATUS_TIMEOUT: Duration = Duration::from_secs(2);

/// Node of a cluster. Its thread runs until [`Self::stop`].
pub struct RunningCluster {
    options: Arc<ClusterOptions>,
    publisher: Arc<Publisher>,
    zones: Arc<ClusterZones>,
    start_state: Arc<StartState>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// Sender of this node's purges.
struct Publisher {
    inputs: UnboundedSender<Input>,
    options: Arc<ClusterOptions>,
    last_status: Arc<Mutex<Option<NodeStatus>>>,
    last_ticket: AtomicU64,
}

impl RunningCluster {
    /// Starts the thread of a node, which belongs to the cluster from now on. `zones` are the zones whose purges it
    /// exchanges. The position in the purge log is stored in the folder of the first zone; without a zone, it is not
    /// stored.
    ///
    /// # Errors
    /// Returns an error if a name is invalid, or the thread cannot be started.
    pub fn start(options: ClusterOptions, zones: Vec<Arc<PageZone>>, log: &ErrorLog) -> io::Result<Self> {
        let options = Arc::new(options);
        let settings = node_settings(&options)?;
        let position = zones.first().map(|zone| PositionFile::within(&zone.folder.path, &options.name));
        let start = NodeStart {
            start: StartId(random()?),
            boot: boot_id(),
            stored: position.as_ref().and_then(|file| read_position(file, log)),
            has_pages: zones.iter().any(|zone| has_pages(&zone.folder.path)),
            seed: u64::from_le_bytes(random()?),
        };
        let node = ClusterNode::new(settings, start, clock_ms());
        let shared_zones = Arc::new(ClusterZones::default());
        let (inputs, queue) = unbounded_channel();
        let start_state = Arc::new(StartState::default());
        let last_status = Arc::default();
        let resources = DriverResources {
            options: Arc::clone(&options),
            zones: Arc::clone(&shared_zones),
            position,
            log: log.clone(),
            start_state: Arc::clone(&start_state),
            last_status: Arc::clone(&last_status),
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let own_inputs = inputs.clone();
        let thread = std::thread::Builder::new()
            .name("cluster".to_owned())
            .spawn(move || runtime.block_on(drive(node, resources, own_inputs, queue)))?;
        let publisher = Arc::new(Publisher {
            inputs,
            options: Arc::clone(&options),
            last_status,
            last_ticket: AtomicU64::new(0),
        });
        let running =
            Self { options, publisher, zones: shared_zones, start_state, thread: Mutex::new(Some(thread)) };
        running.set_zones(zones);
        Ok(running)
    }

    /// Returns the options with which the node was started.
    pub fn options(&self) -> &ClusterOptions {
        &self.options
    }

    /// Replaces the zones whose purges are exchanged, after a reload. Zones that are no longer part of them publish no
    /// purges.
    pub fn set_zones(&self, zones: Vec<Arc<PageZone>>) {
        for zone in &zones {
            *zone.publisher.lock() = Some(Arc::clone(&self.publisher) as Arc<dyn PurgePublisher>);
        }
        for zone in self.zones.set(zones) {
            zone.publisher.lock().take();
        }
    }

    /// Waits until the node has executed all purges that it missed while it was stopped, or until the pages that may
    /// have missed a purge are stale, for at most ten seconds.
    pub fn wait_until_ready(&self) {
        self.start_state.wait(START_TIMEOUT);
    }

    /// Stops the node and waits for at most three seconds. `is_leaving` is true if the node leaves the cluster until
    /// its next start, and false if a successor takes over its name.
    pub fn stop(&self, is_leaving: bool) {
        let Some(thread) = self.thread.lock().take() else { return };
        for zone in self.zones.set(Vec::new()) {
            zone.publisher.lock().take();
        }
        let _ = self.publisher.inputs.send(Input::Event(ClusterEvent::Shutdown { is_leaving }));
        let (done, waiting) = channel();
        // A separate thread joins the node's thread, so that `stop` returns after [`STOP_TIMEOUT`] even if the node's
        // thread is still running.
        std::thread::spawn(move || {
            let _ = thread.join();
            let _ = done.send(());
        });
        let _ = waiting.recv_timeout(STOP_TIMEOUT);
    }
}

impl Drop for RunningCluster {
    fn drop(&mut self) {
        self.stop(false);
    }
}

impl PurgePublisher for Publisher {
    fn publish(&self, zone: &str, purge: Vec<u8>, is_durable: bool) -> ReceiptsFuture {
        let ticket = PurgeTicket(self.last_ticket.fetch_add(1, Ordering::Relaxed) + 1);
        let wait_ms = self.options.receipt_timeout.as_millis() as u64;
        let event = ClusterEvent::Purge { ticket, zone: zone.to_owned(), body: purge, wait_ms };
        let (answer, waiting) = oneshot::channel();
        // Fails if the thread has stopped. The sender of the answer is then dropped, too.
        let _ = self.inputs.send(Input::Purge(event, ticket, answer));
        if is_durable {
            let _ = self.inputs.send(Input::Event(ClusterEvent::PurgeDurable(ticket)));
        }
        let node = self.options.node.clone();
        Box::pin(async move {
            match waiting.await {
                Ok(answer) => receipts(node, &answer),
                Err(_) => PurgeReceipts { applied: BTreeSet::from([node]), ..PurgeReceipts::default() },
            }
        })
    }

    fn status(&self) -> Option<PublisherStatus> {
        let (reply, status) = channel();
        self.inputs.send(Input::Status(reply)).ok()?;
        let status = status.recv_timeout(STATUS_TIMEOUT).ok()?;
        Some(publisher_status(&self.options, &status))
    }

    fn last_status(&self) -> Option<PublisherStatus> {
        self.last_status.lock().as_ref().map(|status| publisher_status(&self.options, status))
    }

    fn forget_node(&self, node: &str) -> Result<(), String> {
        let node = NodeName::new(node).map_err(|error| format!("invalid node \"{node}\": {error}"))?;
        // Fails if the thread has stopped.
        let _ = self.inputs.send(Input::Event(ClusterEvent::Forget(node)));
        Ok(())
    }
}

/// Returns the receipts of a purge that is in effect on this node.
fn receipts(own_node: String, answer: &PurgeAnswer) -> PurgeReceipts {
    let mut applied: BTreeSet<String> = answer.applied.iter().map(ToString::to_string).collect();
    applied.insert(own_node);
    PurgeReceipts {
        applied,
        missing: answer.missing.iter().map(|missing| missing.node.to_string()).collect(),
        elapsed: Duration::from_millis(answer.elapsed_ms),
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

/// Reads the position file. An unreadable one is logged and counts as missing, so that all stored pages become stale.
fn read_position(file: &PositionFile, log: &ErrorLog) -> Option<Vec<u8>> {
    file.read().unwrap_or_else(|error| {
        let path = file.path().display();
        let text = format_args!("cluster: cannot read \"{path}\" ({error}); all stored pages become stale");
        log.write(LogLevel::Error, None, text);
        None
    })
}

/// Returns true if the folder of a zone contains pages (files or folders whose name does not begin with a dot), or cannot
/// be read.
fn has_pages(folder: &Path) -> bool {
    match fs::read_dir(folder) {
        Ok(entries) => entries.flatten().any(|entry| !entry.file_name().as_bytes().starts_with(b".")),
        Err(error) => error.kind() != io::ErrorKind::NotFound,
    }
}
