//! Statistics of zones.

use crate::protocol::{
    AdminReply, DiskReport, MemoryReport, ReplyEnd, RequestCounts, RunningPurgeReport, StatsRequest,
    ZoneReport,
};

use myriad_policy::CacheStatus;

use super::administrator::{Administrator, ReplyResult, ReplySink};
use myriad_store::page::PageZone;

impl Administrator {
    pub(super) fn stats(&self, request: &StatsRequest, tell: &mut ReplySink<'_>) -> ReplyResult {
        for zone in self.zones_named(request.zone.as_deref())? {
            if !tell(AdminReply::Zone(Box::new(report(zone)))) {
                break;
            }
        }
        Ok(ReplyEnd::default())
    }
}

/// Returns the statistics of a cache zone.
pub(crate) fn report(zone: &PageZone) -> ZoneReport {
    let stats = zone.zone.stats();
    let running = zone.zone.purges_by_rule().into_iter();
    ZoneReport {
        zone: zone.zone.name().to_owned(),
        path: zone.folder.path.to_string_lossy().into_owned(),
        memory: MemoryReport {
            pages: stats.objects,
            keys: stats.keys,
            bytes: stats.bytes.saturating_sub(stats.unused_notes) as u64,
            limit_bytes: stats.limit_bytes as u64,
            evicted: stats.evictions,
            inactive: stats.expired,
        },
        disk: disk(zone),
        requests: request_counts(|status| zone.counts.of(status)),
        fetching: stats.flights,
        stored: stats.stored,
        rejected: stats.rejected,
        purged: stats.purged,
        running_purges: running
            .map(|purge| RunningPurgeReport {
                number: purge.number,
                name: crate::protocol::escape_bytes(purge.name.as_bytes()),
                count: purge.count,
            })
            .collect(),
    }
}

/// Returns the counts that `of` returns for each cache status.
pub(crate) fn request_counts(of: impl Fn(CacheStatus) -> u64) -> RequestCounts {
    RequestCounts {
        hit: of(CacheStatus::Hit),
        miss: of(CacheStatus::Miss),
        expired: of(CacheStatus::Expired),
        stale: of(CacheStatus::Stale),
        updating: of(CacheStatus::Updating),
        revalidated: of(CacheStatus::Revalidated),
        bypass: of(CacheStatus::Bypass),
    }
}

fn disk(zone: &PageZone) -> Option<DiskReport> {
    let stats = zone.zone.disk_stats()?;
    let limits = zone.zone.disk_limits()?;
    Some(DiskReport {
        files: stats.files,
        bytes: stats.bytes,
        limit_bytes: Some(limits.max_bytes).filter(|bytes| *bytes < u64::MAX),
        recovered: stats.recovered,
        reads: stats.reads,
        writes: stats.writes,
        dropped: stats.dropped,
        evicted: stats.evictions,
        inactive: stats.expired,
        vanished: stats.vanished,
        quarantined: stats.quarantined,
    })
}
