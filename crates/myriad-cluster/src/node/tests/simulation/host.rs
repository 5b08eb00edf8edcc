//! Model of a machine: the production node, a cache of pages, a disk, and a clock.

use std::collections::BTreeMap;

use crate::gate::PageGate;
use crate::node::{ClockMs, ClusterNode, Readiness};
use crate::record::NodeName;

/// Number of a page.
pub(super) type PageKey = u8;

/// Page in a cache.
#[derive(Clone, Copy, Debug)]
pub(super) struct PageModel {
    /// Version of the content.
    pub(super) version: u32,
    /// Start of its fetch on the clock of the host; `None` if it was read from disk at the start of the process.
    pub(super) fetched_at: Option<ClockMs>,
}

/// Cache of a process.
#[derive(Default)]
pub(super) struct CacheModel {
    pub(super) pages: BTreeMap<PageKey, PageModel>,
    purged_at: BTreeMap<PageKey, ClockMs>,
    expired_at: Option<ClockMs>,
}

impl CacheModel {
    /// Removes a page, also if it is being fetched.
    pub(super) fn purge(&mut self, key: PageKey, now: ClockMs) {
        self.pages.remove(&key);
        self.purged_at.insert(key, now);
    }

    /// Makes all pages stale, also those that are being fetched.
    pub(super) fn expire(&mut self, now: ClockMs) {
        self.pages.clear();
        self.expired_at = Some(now);
    }

    /// Stores a page unless it was purged since the start of its fetch. Returns true if it was stored.
    pub(super) fn store(&mut self, key: PageKey, version: u32, fetched_at: ClockMs) -> bool {
        let is_purged = self.purged_at.get(&key).is_some_and(|&at| fetched_at <= at)
            || self.expired_at.is_some_and(|at| fetched_at <= at);
        if !is_purged {
            self.pages.insert(key, PageModel { version, fetched_at: Some(fetched_at) });
        }
        !is_purged
    }

    /// Returns the page if a request would get it.
    pub(super) fn hit(&self, key: PageKey, readiness: Readiness) -> Option<PageModel> {
        let page = *self.pages.get(&key)?;
        let is_served = match readiness {
            Readiness::Serving => true,
            Readiness::StaleBefore(time) => page.fetched_at.is_some_and(|fetched_at| fetched_at >= time),
        };
        is_served.then_some(page)
    }
}

/// Page on disk.
#[derive(Clone, Copy)]
struct DiskPage {
    version: u32,
    lifetime: u32,
    fetched_at: ClockMs,
}

/// What survives a crash.
#[derive(Default)]
pub(super) struct DiskModel {
    pages: BTreeMap<PageKey, DiskPage>,
    pub(super) position: Option<Vec<u8>>,
}

impl DiskModel {
    pub(super) fn store(&mut self, key: PageKey, version: u32, lifetime: u32, fetched_at: ClockMs) {
        self.pages.insert(key, DiskPage { version, lifetime, fetched_at });
    }

    /// Removes pages whose fetch began until `at` in this lifetime, or in an earlier one: of one key, or all.
    pub(super) fn purge(&mut self, key: Option<PageKey>, lifetime: u32, at: ClockMs) {
        self.pages.retain(|&page, stored| {
            key.is_some_and(|key| key != page) || stored.lifetime == lifetime && stored.fetched_at > at
        });
    }

    /// Pages that a process finds at its start.
    pub(super) fn load(&self) -> CacheModel {
        let pages = self.pages.iter();
        let pages =
            pages.map(|(&key, page)| (key, PageModel { version: page.version, fetched_at: None })).collect();
        CacheModel { pages, ..CacheModel::default() }
    }
}

/// Clock of a machine, which runs faster or slower than the world's.
pub(super) struct HostClock {
    pub(super) offset: u64,
    /// Speed of the clock in thousandths of the speed of the world's clock.
    pub(super) rate: u64,
}

impl HostClock {
    /// Time of the clock at the world's time `time`.
    pub(super) fn at(&self, time: u64) -> ClockMs {
        self.offset + time * self.rate / 1000
    }

    /// First time of the world at which the clock shows at least `local`.
    pub(super) fn when(&self, local: ClockMs) -> u64 {
        (local.saturating_sub(self.offset) * 1000).div_ceil(self.rate)
    }
}

/// Connection of a host.
#[derive(Clone, Copy, Default)]
pub(super) struct HostConnection {
    pub(super) number: u64,
    pub(super) server: usize,
    pub(super) is_open: bool,
    /// Times at which the last command reached the server: on the connection that waits, and on the other one.
    pub(super) busy_until: [u64; 2],
}

/// Machine with one node.
pub(super) struct HostModel {
    pub(super) name: NodeName,
    /// The node; `None` while the process does not run.
    pub(super) node: Option<ClusterNode>,
    pub(super) lifetime: u32,
    pub(super) clock: HostClock,
    pub(super) cache: CacheModel,
    pub(super) disk: DiskModel,
    pub(super) readiness: Readiness,
    /// Rule for pages of other hosts.
    pub(super) gate: PageGate,
    pub(super) connection: HostConnection,
    /// True if no packet passes between the host and Valkey.
    pub(super) is_cut: bool,
    /// True if packets are slow.
    pub(super) is_slow: bool,
    /// True if neither pages nor purges can be written to the disk.
    pub(super) is_disk_full: bool,
    /// True if the position file can be written to a full disk.
    pub(super) has_room_for_position: bool,
    /// Time until which the process is suspended.
    pub(super) paused_until: u64,
    /// Time of the earliest tick that is scheduled.
    pub(super) tick_at: Option<u64>,
    /// Minimum version of each page because of purges that are durable here or were confirmed by this host.
    pub(super) required: BTreeMap<PageKey, u32>,
    /// Minimum version of each page because of purges in effect in this lifetime.
    pub(super) required_in_lifetime: BTreeMap<PageKey, u32>,
    /// Hosts that were missing in the list of members, and when the host's node saw that last.
    pub(super) unlisted_until: BTreeMap<usize, u64>,
    /// Time at which the host's member record was last written.
    pub(super) member_at: u64,
    /// True while the process stops.
    pub(super) is_stopping: bool,
}

impl HostModel {
    /// True if the position file can be written.
    pub(super) fn can_store_position(&self) -> bool {
        !self.is_disk_full || self.has_room_for_position
    }
}
