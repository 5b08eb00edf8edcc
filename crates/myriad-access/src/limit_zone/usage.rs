//! Use of limit zones on the nodes of a cluster: numbers that this node reports, and numbers of its peers.

use std::sync::Arc;

use aws_lc_rs::digest::{SHA256, digest};

use super::settings::{LimitKind, LimitZoneConf};

/// Maximum number of keys of a zone whose use is reported at once. The use of other keys is counted only on this node.
pub(crate) const MAX_REPORTED_KEYS: usize = 8192;

/// Maximum length of a key whose use is reported, in bytes. The use of longer keys is counted only on this node.
pub const MAX_SHARED_KEY: usize = 255;

/// Key of a zone with its number: of requests counted since the last report, or of current connections.
pub type KeyUsage = (Box<[u8]>, u32);

/// Number of a key on a peer, which is another node of the cluster.
#[derive(Clone, Copy, Debug)]
pub struct PeerUsage<'a> {
    /// Number that distinguishes the process lifetime of the peer from others.
    pub peer: u64,
    /// Number of peers whose numbers are used at present.
    pub peers: usize,
    /// Key of the zone.
    pub key: &'a [u8],
    /// Number of requests since the peer's last report, or of its current connections.
    pub number: u32,
}

/// Rate and largest burst of the limits of a zone in the active configuration, in thousandths of a request; 0 for
/// connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestRate {
    /// Permitted requests per second.
    pub rate: u64,
    /// Largest burst.
    pub max_burst: u64,
}

/// Table of a limit zone that can count the use on all nodes of a cluster.
pub trait UsageTable: Send + Sync {
    /// Starts or stops reporting the use on this node. Stopping forgets the connections of peers.
    fn set_shared(&self, is_shared: bool);

    /// Returns the numbers that have changed since the last call. `repeats` includes the numbers of all current
    /// connections, and corrects those whose change was not reported.
    fn take_usage(&self, repeats: bool) -> Vec<KeyUsage>;

    /// Adds requests of a peer to those of this node, or sets the number of its connections. `limits` are those of the
    /// zone, and `now` is in milliseconds.
    fn add_usage(&self, usage: PeerUsage<'_>, limits: RequestRate, now: u64);
}

/// Part of the configuration to which a zone belongs. Requests and sessions are counted separately.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitBlock {
    /// Zone in `http`.
    Http,
    /// Zone in `stream`.
    Stream,
}

/// Limit zone whose limits apply to all nodes of a cluster together.
#[derive(Clone)]
pub struct SharedLimitZone {
    id: [u8; 16],
    limits: RequestRate,
    table: Arc<dyn UsageTable>,
}

impl SharedLimitZone {
    /// Creates the shared form of the zone `conf` with its table, and the largest burst of its limits in thousandths of a
    /// request.
    pub(super) fn new(
        conf: &LimitZoneConf,
        block: LimitBlock,
        max_burst: u64,
        table: Arc<dyn UsageTable>,
    ) -> Self {
        let (kind, rate) = match (conf.kind, block) {
            (LimitKind::Requests { rate }, _) => (0, rate),
            (LimitKind::Connections, LimitBlock::Http) => (1, 0),
            (LimitKind::Connections, LimitBlock::Stream) => (2, 0),
        };
        let mut text = vec![kind];
        text.extend_from_slice(&(conf.name.len() as u64).to_le_bytes());
        text.extend_from_slice(conf.name.as_bytes());
        text.extend_from_slice(conf.key.bytes());
        let hash = digest(&SHA256, &text);
        let id = std::array::from_fn(|index| hash.as_ref()[index]);
        Self { id, limits: RequestRate { rate, max_burst }, table }
    }

    /// Returns the identity of the zone: a hash of its kind, its name and the text of its key. Zones of two nodes with the
    /// same identity count the same.
    pub fn id(&self) -> [u8; 16] {
        self.id
    }

    /// Returns the rate and the largest burst of the zone's limits.
    #[cfg(test)]
    pub(crate) fn limits(&self) -> RequestRate {
        self.limits
    }

    /// Returns true if both zones have the same table.
    pub fn has_table_of(&self, other: &Self) -> bool {
        std::ptr::addr_eq(Arc::as_ptr(&self.table), Arc::as_ptr(&other.table))
    }

    /// Starts or stops reporting the use on this node. Stopping forgets the connections of peers.
    pub fn set_shared(&self, is_shared: bool) {
        self.table.set_shared(is_shared);
    }

    /// Returns the numbers that have changed since the last call, of at most 8,192 keys. `repeats` includes the numbers of
    /// all current connections, and corrects those whose change was not reported; 0 is then returned for at most 8,192
    /// further keys.
    pub fn take_usage(&self, repeats: bool) -> Vec<KeyUsage> {
        self.table.take_usage(repeats)
    }

    /// Adds requests of a peer to those of this node, or sets the number of its connections, which applies for
    /// three seconds. `now` is in milliseconds.
    pub fn add_usage(&self, usage: PeerUsage<'_>, now: u64) {
        self.table.add_usage(usage, self.limits, now);
    }
}
