//! Log messages about memory pressure: when a higher stage is entered, and when the shortage is over. Each stage is
//! logged at most once in ten seconds.

use myriad_base::memory::PressureStage;
use myriad_exchange::pressure::PressureSums;

/// Minimum time between two log messages about the same stage of memory pressure, in milliseconds.
const SILENCE_MS: u64 = 10_000;

/// State of the log messages about stages of memory pressure.
#[derive(Debug, Default)]
pub(super) struct StageLogger {
    /// Time of the last message for each stage, by the monotonic clock.
    last_logged_ms: [Option<u64>; 4],
    /// Counters of the actions taken, at the start of the memory shortage; `None` outside of one, unless the end of the
    /// last one was not logged.
    sums_at_start: Option<PressureSums>,
}

impl StageLogger {
    /// Returns the log line for a change from the stage of memory pressure `before`, and whether it is a warning;
    /// `None` if nothing is to be logged.
    pub(super) fn line(
        &mut self,
        before: PressureStage,
        sums: &PressureSums,
        now_ms: u64,
    ) -> Option<(bool, String)> {
        let stage = sums.stage;
        if before == PressureStage::Normal && stage > PressureStage::Normal {
            self.sums_at_start.get_or_insert_with(|| sums.clone());
        }
        let is_news =
            |logged_ms: Option<u64>| logged_ms.is_none_or(|told| now_ms.saturating_sub(told) >= SILENCE_MS);
        if stage == before || !is_news(self.last_logged_ms[stage as usize]) {
            return None;
        }
        if stage > before {
            self.last_logged_ms[stage as usize] = Some(now_ms);
            return Some((true, format!("{}: {}", usage_text(sums), actions_text(stage))));
        }
        if stage > PressureStage::Normal {
            return None;
        }
        let began = self.sums_at_start.take()?;
        self.last_logged_ms[stage as usize] = Some(now_ms);
        Some((
            false,
            format!("{}, memory shortage resolved: {}", usage_text(sums), effects_text(&began, sums)),
        ))
    }
}

/// Number of successive checks after which excessive memory outside of cache zones is logged. One check is not
/// sufficient, because memory that zones have just freed still counts as used.
const LASTING_CHECKS: u8 = 10;

/// State of the warning that memory outside of cache zones exceeds `memory_limit` on its own, so that zones cannot
/// reduce the usage sufficiently. It is logged once per configuration.
#[derive(Debug, Default)]
pub(super) struct NonZoneMemoryWarning {
    exceeding_checks: u8,
    is_logged: bool,
}

impl NonZoneMemoryWarning {
    /// Returns the warning if it is due: in the last of [`LASTING_CHECKS`] successive calm checks above the limit.
    /// `non_zone_bytes` is the memory in use outside of cache zones, in bytes; `is_calm` is true if zones evicted
    /// nothing in this check.
    pub(super) fn line(&mut self, non_zone_bytes: u64, limit: Option<u64>, is_calm: bool) -> Option<String> {
        let limit = limit.filter(|limit| non_zone_bytes > *limit && is_calm && !self.is_logged);
        self.exceeding_checks = if limit.is_some() { self.exceeding_checks + 1 } else { 0 };
        let limit = limit.filter(|_| self.exceeding_checks == LASTING_CHECKS)?;
        self.is_logged = true;
        Some(format!(
            "{} MB of memory are in use outside of cache zones, \"memory_limit\" is {} MB: requests to upstreams get 503 \
                 until the usage falls; raise \"memory_limit\" above {} MB, or limit the usage (`myriad memory`)",
            mib(non_zone_bytes),
            mib(limit),
            // Recommended limit: includes memory for zones, and a margin so that the stage is left.
            mib(non_zone_bytes / 4 * 5) + 1,
        ))
    }
}

/// Converts bytes to whole mebibytes.
pub(super) const fn mib(bytes: u64) -> u64 {
    bytes >> 20
}

fn usage_text(sums: &PressureSums) -> String {
    format!(
        "{} MB of memory are in use, \"memory_limit\" is {} MB",
        mib(sums.resident),
        mib(sums.limit.unwrap_or(0))
    )
}

/// Returns the description of the actions taken in a stage of memory pressure.
fn actions_text(stage: PressureStage) -> &'static str {
    match stage {
        PressureStage::Normal => "no action is required",
        PressureStage::Shrinking => "cache zones are reduced in memory",
        PressureStage::Closing => {
            "idle and stalled connections are closed, and background compression is paused"
        }
        PressureStage::Refusing => {
            "requests to upstreams get 503, stored pages are served; raise \"memory_limit\", or limit the usage (`myriad memory`)"
        }
    }
}

/// Returns the description of the actions taken since the start of the memory shortage (counters `began`).
fn effects_text(began: &PressureSums, now: &PressureSums) -> String {
    format!(
        "{} pages were evicted from zones, {} idle and {} stalled connections were closed, {} requests were rejected",
        now.pages - began.pages,
        now.idle - began.idle,
        now.stalled - began.stalled,
        now.refused - began.refused,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_outside_zones_above_limit_is_reported_once_if_lasting() {
        let (limit, beside) = (Some(64 << 20), 80 << 20);
        let lines_of = |all: &mut NonZoneMemoryWarning, beside, is_calm| {
            let lines: Vec<_> = (0..30).filter_map(|_| all.line(beside, limit, is_calm)).collect();
            lines
        };
        let mut all = NonZoneMemoryWarning::default();
        assert!(lines_of(&mut all, 64 << 20, true).is_empty(), "the memory is within the limit");
        assert!(lines_of(&mut all, beside, false).is_empty(), "zones still evict pages");
        assert!(
            (0..LASTING_CHECKS - 1).all(|_| all.line(beside, limit, true).is_none()),
            "the excess may be temporary"
        );
        assert!(all.line(0, limit, true).is_none());
        let lines = lines_of(&mut all, beside, true);
        assert_eq!(lines.len(), 1);
        assert!(
            lines[0].starts_with(
                "80 MB of memory are in use outside of cache zones, \"memory_limit\" is 64 MB: "
            )
        );
        assert!(lines[0].contains("raise \"memory_limit\" above 101 MB"), "{lines:?}");
        assert!((0..30).all(|_| NonZoneMemoryWarning::default().line(beside, None, true).is_none()));
    }

    fn sums(stage: PressureStage, pages: u64) -> PressureSums {
        PressureSums { limit: Some(100 << 20), resident: 90 << 20, stage, pages, ..PressureSums::default() }
    }

    #[test]
    fn memory_stages_are_reported_at_intervals_and_recovery_with_counts() {
        let mut teller = StageLogger::default();
        let mut logged = Vec::new();
        let mut before = PressureStage::Normal;
        for (stage, pages, now_ms) in [
            (PressureStage::Shrinking, 5, 0),
            (PressureStage::Closing, 9, 100),
            (PressureStage::Shrinking, 9, 200),
            (PressureStage::Closing, 9, 300),
            (PressureStage::Normal, 15, 400),
            (PressureStage::Shrinking, 20, 500),
            (PressureStage::Normal, 22, 600),
            (PressureStage::Shrinking, 30, 20_000),
            (PressureStage::Shrinking, 31, 20_100),
            (PressureStage::Normal, 32, 20_200),
        ] {
            logged.extend(
                teller.line(before, &sums(stage, pages), now_ms).map(|(warns, line)| (now_ms, warns, line)),
            );
            before = stage;
        }
        let lines: Vec<_> =
            logged.iter().map(|(at, warns, line)| (*at, *warns, line.rsplit(": ").next().unwrap())).collect();
        let of = |pages| {
            format!(
                "{pages} pages were evicted from zones, 0 idle and 0 stalled connections were closed, 0 requests were rejected"
            )
        };
        let (first, second) = (of(10), of(12));
        assert_eq!(
            lines,
            [
                (0, true, actions_text(PressureStage::Shrinking)),
                (100, true, actions_text(PressureStage::Closing)),
                (400, false, first.as_str()),
                (20_000, true, actions_text(PressureStage::Shrinking)),
                // Counts since the start of the shortage, whose first stage was not logged.
                (20_200, false, second.as_str()),
            ]
        );
        assert!(logged[0].2.starts_with("90 MB of memory are in use, \"memory_limit\" is 100 MB: "));
    }
}
