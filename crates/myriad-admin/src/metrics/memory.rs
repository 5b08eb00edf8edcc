//! Metrics of the memory of the process.

use super::text::MetricsPage;
use crate::admin::MemorySources;
use myriad_exchange::runtime::Runtime;

/// Stages of memory pressure whose starts are counted: all but `normal`.
const STAGES: [&str; 3] = ["shrinking", "closing", "refusing"];

/// Appends the metrics of the process's memory and of its memory pressure.
pub(super) fn write(runtime: &Runtime, page: &mut MetricsPage) {
    let report = MemorySources::of(runtime).report(runtime.zones.values());
    page.gauge("memory_resident_bytes", "Memory of the worker process").line(&[], report.resident_bytes);
    let mut family = page.gauge("memory_limit_bytes", "Value of memory_limit; absent if not set");
    if let Some(limit) = report.limit_bytes {
        family.line(&[], limit);
    }
    let mut family =
        page.gauge("memory_part_bytes", "Memory by part of the server; all cache zones together");
    let zones = report.parts.iter().filter(|part| part.zone.is_some()).map(|part| part.bytes).sum::<u64>();
    family.line(&[("part", "zones")], zones);
    for part in report.parts.iter().filter(|part| part.zone.is_none()) {
        family.line(&[("part", &part.part)], part.bytes);
    }
    let mut family = page.gauge("memory_stage", "Stage of memory reclamation: 1 for the current stage");
    for stage in ["normal"].iter().chain(&STAGES) {
        family.line(&[("stage", stage)], u64::from(report.stage == **stage));
    }
    let begun = [report.begun.shrinking, report.begun.closing, report.begun.refusing];
    let mut family = page.counter("memory_stages_total", "Stages of memory reclamation entered");
    for (stage, count) in STAGES.iter().zip(begun) {
        family.line(&[("stage", stage)], count);
    }
    page.counter("memory_evicted_total", "Pages evicted under memory pressure")
        .line(&[], report.evicted_pages);
    page.counter("memory_closed_connections_total", "Connections closed under memory pressure")
        .line(&[("kind", "idle")], report.closed_idle)
        .line(&[("kind", "stalled")], report.closed_stalled);
    page.counter("memory_refused_total", "Requests to origins rejected with 503 under memory pressure")
        .line(&[], report.refused_requests);
}
