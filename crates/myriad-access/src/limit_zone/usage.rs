//! Use of limit zones on the nodes of a cluster: numbers that this node reports, and numbers of its peers.

use std::sync::Arc;

use aws_lc_rs::digest::{SHA256, digest};

use super::settings::{LimitKind, LimitZoneConf};

/// Maximum number of keys of a zone whose use is reported at once. The use of other keys is counted only on this node.
pub(crate) const MAX_REPORTED_KEYS: usize = 8192;

/// Key of a zone with its number: of requests counted since the last report, or of current connections.
pub type KeyUsage = (Box<[u8]>, u32);

/// Number of a key on a peer, which is another node of the cluster.
#[derive(Clone, Copy, Debug)]
pub struct PeerUsage<'a> {
    /// Number that distinguishes the peer from others; no two process lifetimes have the same one.
    pub peer: u32,
    /// Key of the zone.
    pub key: &'a [u8],
    /// Number of requests since the peer's last report, or of its current connections.
    pub number: u32,
}

/// Table of a limit zone that can count the use on all nodes of a cluster.
pub trait UsageTable: Send + Sync {
    /// Starts or stops reporting the use on this node. Stopping forgets the connections of peers.
    fn set_shared(&self, is_shared: bool);

    /// Returns the numbers that have changed since the last call. `repeats` includes the numbers of current connections
    /// that have not changed.
    fn take_usage(&self, repeats: bool) -> Vec<KeyUsage>;

    /// Adds requests of a peer to those of this node, or sets the number of its connections. `rate` is that of the zone in
    /// thousandths of a request per second, and `now` is in milliseconds.
    fn add_usage(&self, usage: PeerUsage<'_>, rate: u64, now: u64);
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
    /// Permitted requests per second, in thousandths of a request; 0 for connections.
    rate: u64,
    table: Arc<dyn UsageTable>,
}

impl SharedLimitZone {
    /// Creates the shared form of the zone `conf` with its table.
    pub(super) fn new(conf: &LimitZoneConf, block: LimitBlock, table: Arc<dyn UsageTable>) -> Self {
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
        Self { id, rate, table }
    }

    /// Returns the identity of the zone: a hash of its kind, its name and the text of its key. Zones of two nodes with the
    /// same identity count the same.
    pub fn id(&self) -> [u8; 16] {
        self.id
    }

    /// Returns true if both zones have the same table.
    pub fn has_table_of(&self, other: &Self) -> bool {
        std::ptr::addr_eq(Arc::as_ptr(&self.table), Arc::as_ptr(&other.table))
    }

    /// Starts or stops reporting the use on this node. Stopping forgets the connections of peers.
    pub fn set_shared(&self, is_shared: bool) {
        self.table.set_shared(is_shared);
    }

    /// Returns the numbers that have changed since the last call, at most 8,192. `repeats` includes the numbers of current
    /// connections that have not changed.
    pub fn take_usage(&self, repeats: bool) -> Vec<KeyUsage> {
        self.table.take_usage(repeats)
    }

    /// Adds requests of a peer to those of this node, or sets the number of its connections, which applies for
    /// three seconds. `now` is in milliseconds.
    pub fn add_usage(&self, usage: PeerUsage<'_>, now: u64) {
        self.table.add_usage(usage, self.rate, now);
    }
}
