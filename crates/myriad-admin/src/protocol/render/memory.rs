//! Output of `myriad memory`: memory of the process by part.

use std::fmt::Write;

use super::amount::{count, size};
use crate::protocol::ProcessMemoryReport;

/// Returns the lines of a memory report.
pub fn memory(report: &ProcessMemoryReport) -> String {
    let mut out = String::new();
    let limit = match report.limit_bytes {
        Some(limit) => {
            let part = report.resident_bytes as f64 * 100.0 / limit.max(1) as f64;
            format!(
                "of {} ({part:.0}%), stage: {}",
                size(limit),
                crate::protocol::escape_bytes(report.stage.as_bytes())
            )
        }
        None => "without a limit (\"memory_limit\")".to_owned(),
    };
    // Writing to a string cannot fail.
    let _ = writeln!(out, "memory {} {limit}", size(report.resident_bytes));
    for part in &report.parts {
        let name = match &part.zone {
            Some(zone) => format!("{} {}", part.part, crate::protocol::escape_bytes(zone.as_bytes())),
            None => part.part.clone(),
        };
        let bound = match (part.limit_bytes, part.configured_bytes) {
            (Some(now), Some(configured)) if now < configured => {
                format!(" of {}, reduced from {}", size(now), size(configured))
            }
            (Some(now), _) => format!(" of {}", size(now)),
            (None, _) => String::new(),
        };
        let _ = writeln!(out, "  {name:<22}{:>8}{bound}", size(part.bytes));
    }
    let begun = report.begun;
    let _ = writeln!(
        out,
        "  stages entered: {} shrinking, {} closing, {} refusing",
        count(begun.shrinking),
        count(begun.closing),
        count(begun.refusing)
    );
    let _ = writeln!(
        out,
        "  released: {} pages, {} idle and {} stalled connections; {} requests refused",
        count(report.evicted_pages),
        count(report.closed_idle),
        count(report.closed_stalled),
        count(report.refused_requests)
    );
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{BegunStages, MemoryPart};

    #[test]
    fn parts_stand_below_the_whole_with_their_bounds() {
        let part = |part: &str, bytes| MemoryPart { part: part.into(), bytes, ..MemoryPart::default() };
        let zone = MemoryPart {
            zone: Some("pages\u{1b}".into()),
            limit_bytes: Some(20 << 20),
            configured_bytes: Some(64 << 20),
            ..part("zone", 19 << 20)
        };
        let report = ProcessMemoryReport {
            resident_bytes: 55 << 20,
            limit_bytes: Some(64 << 20),
            stage: "shrinking".into(),
            begun: BegunStages { shrinking: 2, ..BegunStages::default() },
            evicted_pages: 1234,
            parts: vec![zone, part("other", 36 << 20)],
            ..ProcessMemoryReport::default()
        };
        assert_eq!(
            memory(&report).lines().collect::<Vec<_>>(),
            [
                "memory 55.0M of 64.0M (86%), stage: shrinking",
                "  zone pages\\x1b           19.0M of 20.0M, reduced from 64.0M",
                "  other                    36.0M",
                "  stages entered: 2 shrinking, 0 closing, 0 refusing",
                "  released: 1,234 pages, 0 idle and 0 stalled connections; 0 requests refused",
            ]
        );
        let free = memory(&ProcessMemoryReport::default());
        assert!(free.starts_with("memory 0 without a limit"), "{free}");
    }
}
