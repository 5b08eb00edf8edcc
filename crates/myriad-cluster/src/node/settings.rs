//! Settings of a node.

use super::NodeCounters;
use crate::record::{ClusterSecret, NodeName, StartId};

/// Milliseconds of a clock that is never set and that counts while the machine is suspended: `CLOCK_BOOTTIME`.
pub type ClockMs = u64;

/// Rule for stored pages while the node cannot receive purges (`partition=`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartitionPolicy {
    /// Serve a stored page until it may have missed a purge for this time, in milliseconds. A value below
    /// [`NodeTimings::detection_ms`] has the effect of `detection_ms`.
    Serve {
        /// The bound.
        bound_ms: u64,
    },
    /// Revalidate every page as soon as the partition is detected.
    Strict,
}

/// Intervals and limits. Production uses the default.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeTimings {
    /// Interval of member records, of reads of the members, and of checks of the position, in milliseconds. What a node
    /// knows about another one is two to four such intervals old, so that a member may be slow for two seconds before the
    /// others detect a partition, or for one second if there are `many_members`; the simulation checks this.
    pub heartbeat_ms: u64,
    /// Number of other members from which on the interval of reads and checks is twice as long, because each node reads the
    /// records of all. The interval of member records remains, so that each read finds a new one: what a node knows about
    /// another one is at most three intervals of reads old.
    pub many_members: usize,
    /// Duration for which a read waits for new records, in milliseconds; twice as long in a cluster with at least
    /// `many_members` other members.
    pub read_wait_ms: u64,
    /// Time after which a command without a reply means that the connection is lost, in milliseconds. For reads, it
    /// begins after `read_wait_ms`.
    pub reply_ms: u64,
    /// Time without confirmation that all purges were received after which a partition is detected, in milliseconds.
    pub detection_ms: u64,
    /// Time without a new member record after which a member is reported as silent, in milliseconds.
    pub silent_ms: u64,
    /// Time without a new member record after which a member is removed, in milliseconds.
    pub remove_ms: u64,
    /// Age of records that are removed from the log, in milliseconds.
    pub trim_ms: u64,
    /// Number of records above which the oldest are removed from the log.
    pub max_log_records: u64,
    /// Maximum number of records whose tags are in memory.
    pub history_records: usize,
    /// Time for which purges are stored in memory so that they can be appended again, in milliseconds.
    pub retain_ms: u64,
    /// Maximum size of these purges, in bytes.
    pub retain_bytes: usize,
    /// Maximum size of own purges that are not in the log, in bytes. More are replaced by one purge of each zone.
    pub max_unsent_bytes: usize,
    /// Size of all own purges, in bytes, above which the oldest in the log do not wait for receipts any more. It bounds the
    /// position file.
    pub max_own_bytes: usize,
    /// Minimum interval between two writes of the position file, in milliseconds.
    pub store_ms: u64,
}

impl Default for NodeTimings {
    fn default() -> Self {
        Self {
            heartbeat_ms: 500,
            many_members: 10,
            read_wait_ms: 1000,
            reply_ms: 3000,
            detection_ms: 5000,
            silent_ms: 10_000,
            remove_ms: 3_600_000,
            trim_ms: 3_600_000,
            max_log_records: 100_000,
            history_records: 4096,
            retain_ms: 300_000,
            retain_bytes: 4 << 20,
            max_unsent_bytes: 4 << 20,
            max_own_bytes: 8 << 20,
            store_ms: 1000,
        }
    }
}

/// Settings of a node.
#[derive(Clone, Debug)]
pub struct NodeSettings {
    /// Name of the node, unique in its cluster.
    pub node: NodeName,
    /// The cluster's secret; also has the cluster's name.
    pub secret: ClusterSecret,
    /// Rule for stored pages during a partition.
    pub partition: PartitionPolicy,
    /// Address of the node, for display.
    pub address: String,
    /// Addresses of Valkey, for messages.
    pub servers: String,
    /// Version of the software, for display.
    pub software: String,
    /// Intervals and limits.
    pub timings: NodeTimings,
}

/// State of a node when its process starts.
#[derive(Clone, Debug)]
pub struct NodeStart {
    /// Random number of this process lifetime.
    pub start: StartId,
    /// Identifies the current boot of the machine (`/proc/sys/kernel/random/boot_id`).
    pub boot: [u8; 16],
    /// Contents of the position file; `None` if there is no file.
    pub stored: Option<Vec<u8>>,
    /// True if zones have pages on disk that were stored before this start, or if pages in memory outlived the node.
    pub has_pages: bool,
    /// Seed of random delays.
    pub seed: u64,
    /// Counters of the earlier nodes of this process, which a reload has replaced; the new node continues them.
    pub counters: NodeCounters,
}
