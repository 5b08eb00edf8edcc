//! Objects for cache zones.

use myriad_policy::CacheStatus;
use myriad_store::page::PageZone;
use serde_json::{Map, Value, json};

use super::node::members;

/// Returns the API object of a cache zone. `size` and `max_size` are those on disk, or in memory if the zone has no
/// disk tier; `max_size` is omitted if it has no limit.
pub(super) fn cache(zone: &PageZone) -> Map<String, Value> {
    let (stats, counted) = (zone.zone.stats(), zone.counts.sums(zone.zone.name()));
    let disk = zone.zone.disk_stats().zip(zone.zone.disk_limits());
    let size = disk.as_ref().map_or(stats.bytes as u64, |(disk, _)| disk.bytes);
    let most = disk.as_ref().map_or(stats.limit_bytes as u64, |(_, limits)| limits.max_bytes);
    let mut object = members(json!({
        "size": size,
        "cold": disk.as_ref().is_some_and(|(disk, _)| !disk.recovered),
    }));
    if most < u64::MAX {
        object.insert("max_size".to_owned(), json!(most));
    }
    for (name, status, writes) in [
        ("hit", CacheStatus::Hit, false),
        ("stale", CacheStatus::Stale, false),
        ("updating", CacheStatus::Updating, false),
        ("revalidated", CacheStatus::Revalidated, false),
        ("miss", CacheStatus::Miss, true),
        ("expired", CacheStatus::Expired, true),
        ("bypass", CacheStatus::Bypass, true),
    ] {
        let sums = counted.by_status[status as usize];
        let mut counts = members(json!({ "responses": sums.responses, "bytes": sums.bytes }));
        if writes {
            counts.insert("responses_written".to_owned(), json!(sums.responses_written));
            counts.insert("bytes_written".to_owned(), json!(sums.bytes_written));
        }
        object.insert(name.to_owned(), Value::Object(counts));
    }
    object
}
