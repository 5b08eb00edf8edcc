//! Output of `myriad cache stats`: several lines for each zone.

use std::fmt::Write;

use super::amount::{count, size};
use crate::protocol::ZoneReport;

/// Returns the lines of a zone's statistics; the first contains its name.
pub fn zone(zone: &ZoneReport) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "zone {}  {}", zone.zone, zone.path);
    let mut row = |name: &str, value: &str| {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "  {name:<10}{value}");
    };
    row("memory", &memory(zone));
    row("disk", &disk(zone));
    row("requests", &requests(zone));
    let fetching =
        if zone.fetching == 0 { String::new() } else { format!(", {} being fetched", zone.fetching) };
    row(
        "stored",
        &format!(
            "{} pages, {} rejected for lack of space{fetching}",
            count(zone.stored),
            count(zone.rejected)
        ),
    );
    row("evicted", &removed(zone, |zone| zone.memory.evicted, |disk| disk.evicted));
    row("inactive", &removed(zone, |zone| zone.memory.inactive, |disk| disk.inactive));
    row("purged", &format!("{} pages from memory, {}", count(zone.purged), pending(zone)));
    for purge in &zone.running_purges {
        row("", &format!("#{} {}: {} pages so far", purge.number, purge.name, count(purge.count as u64)));
    }
    if let Some(disk) = &zone.disk {
        let trouble = format!(
            "{} files quarantined, {} deleted by other programs, {} pages not written",
            count(disk.quarantined),
            count(disk.vanished),
            count(disk.dropped)
        );
        row("trouble", &trouble);
    }
    out
}

fn memory(zone: &ZoneReport) -> String {
    let memory = &zone.memory;
    let (pages, used) = (count(memory.pages as u64), size(memory.bytes));
    format!("{pages:>11} pages  {used:>7} of {}", limited(memory.bytes, Some(memory.limit_bytes)))
}

fn disk(zone: &ZoneReport) -> String {
    let Some(disk) = &zone.disk else { return "none".to_owned() };
    let (files, used) = (count(disk.files as u64), size(disk.bytes));
    let known = if disk.recovered { "" } else { "; recovering, the scan of the files is not finished" };
    format!("{files:>11} files  {used:>7} of {}{known}", limited(disk.bytes, disk.limit_bytes))
}

fn limited(used: u64, limit: Option<u64>) -> String {
    match limit {
        Some(limit) => format!("{} ({:.0} %)", size(limit), 100.0 * used as f64 / limit.max(1) as f64),
        None => "any size".to_owned(),
    }
}

fn requests(zone: &ZoneReport) -> String {
    let counts = &zone.requests;
    let mut text = String::new();
    for (name, number) in [
        ("HIT", counts.hit),
        ("MISS", counts.miss),
        ("EXPIRED", counts.expired),
        ("STALE", counts.stale),
        ("UPDATING", counts.updating),
        ("REVALIDATED", counts.revalidated),
        ("BYPASS", counts.bypass),
    ] {
        // `HIT` and `MISS` are always shown, the others if they are not 0.
        if number > 0 || matches!(name, "HIT" | "MISS") {
            let _ = write!(text, "{name} {}  ", count(number));
        }
    }
    match counts.hit_rate() {
        Some(rate) => format!("{text}({:.1} % served from the cache)", 100.0 * rate),
        None => text.trim_end().to_owned(),
    }
}

fn removed(
    zone: &ZoneReport,
    from_memory: fn(&ZoneReport) -> u64,
    from_disk: fn(&crate::protocol::DiskReport) -> u64,
) -> String {
    let disk = zone.disk.as_ref().map(|disk| format!(", {} files from disk", count(from_disk(disk))));
    format!("{} keys from memory{}", count(from_memory(zone)), disk.unwrap_or_default())
}

fn pending(zone: &ZoneReport) -> String {
    match zone.running_purges.len() {
        0 => "no pattern in progress".to_owned(),
        1 => "1 pattern in progress".to_owned(),
        purges => format!("{purges} patterns in progress"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{DiskReport, MemoryReport, RequestCounts, RunningPurgeReport};

    #[test]
    fn zone_report_shows_contents_and_request_counts() {
        let report = ZoneReport {
            zone: "pages".into(),
            path: "/cache".into(),
            memory: MemoryReport {
                pages: 1203,
                bytes: 41 << 20,
                limit_bytes: 256 << 20,
                ..MemoryReport::default()
            },
            disk: Some(DiskReport { files: 5331, bytes: 310 << 20, quarantined: 2, ..DiskReport::default() }),
            requests: RequestCounts { hit: 98, miss: 1, stale: 1, bypass: 7, ..RequestCounts::default() },
            running_purges: vec![RunningPurgeReport { number: 9, name: "a/*".into(), count: 3 }],
            ..ZoneReport::default()
        };
        let text = zone(&report);
        for line in [
            "zone pages  /cache",
            "  memory          1,203 pages    41.0M of 256.0M (16 %)",
            "  disk            5,331 files   310.0M of any size; recovering, the scan of the files is not finished",
            "  requests  HIT 98  MISS 1  STALE 1  BYPASS 7  (99.0 % served from the cache)",
            "  purged    0 pages from memory, 1 pattern in progress",
            "            #9 a/*: 3 pages so far",
            "  trouble   2 files quarantined, 0 deleted by other programs, 0 pages not written",
        ] {
            assert!(text.lines().any(|shown| shown == line), "{line}\n{text}");
        }
    }
}
