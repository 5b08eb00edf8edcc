//! Log messages about memory: a line when a stage is entered that was not logged recently, and a line when the shortage
//! is over.

use myriad_base::memory::Stage;
use myriad_exchange::pressure::PressureSums;

/// Time during which a logged stage is not logged again, in milliseconds.
const SILENCE_MS: u64 = 10_000;

/// State of the messages.
#[derive(Debug, Default)]
pub(super) struct Teller {
    /// Time of the last message for each stage, by the monotonic clock.
    told: [Option<u64>; 4],
    /// Counts at the start of the shortage.
    began: Option<PressureSums>,
}

impl Teller {
    /// Returns the line for a change of the stage, and whether it is a warning; `None` if it is not logged now.
    pub(super) fn line(&mut self, before: Stage, sums: &PressureSums, now_ms: u64) -> Option<(bool, String)> {
        let stage = sums.stage;
        if before == Stage::Normal && stage > Stage::Normal {
            self.began.get_or_insert_with(|| sums.clone());
        }
        let is_news = |told: Option<u64>| told.is_none_or(|told| now_ms.saturating_sub(told) >= SILENCE_MS);
        if stage == before || !is_news(self.told[stage as usize]) {
            return None;
        }
        if stage > before {
            self.told[stage as usize] = Some(now_ms);
            return Some((true, format!("{}: {}", used(sums), done(stage))));
        }
        if stage > Stage::Normal {
            return None;
        }
        let began = self.began.take()?;
        self.told[stage as usize] = Some(now_ms);
        Some((false, format!("{}, memory shortage resolved: {}", used(sums), came(&began, sums))))
    }
}

/// Number of successive checks after which excessive memory outside of zones is logged: memory freed by zones a moment
/// ago is still in use.
const LASTING: u8 = 10;

/// Memory in use outside of zones, for one configuration. It is logged once if it exceeds the limit on its own, since
/// zones then cannot reduce the usage sufficiently.
#[derive(Debug, Default)]
pub(super) struct Beside {
    looks: u8,
    is_told: bool,
}

impl Beside {
    /// Returns the line if it is due. `beside` is the memory in use outside of zones, in bytes; `is_calm` is true if
    /// zones evicted nothing in this check.
    pub(super) fn line(&mut self, beside: u64, limit: Option<u64>, is_calm: bool) -> Option<String> {
        let limit = limit.filter(|limit| beside > *limit && is_calm && !self.is_told);
        self.looks = if limit.is_some() { self.looks + 1 } else { 0 };
        let limit = limit.filter(|_| self.looks == LASTING)?;
        self.is_told = true;
        Some(format!(
            "{} MB of memory are in use outside of cache zones, \"memory_limit\" is {} MB: requests to upstreams get 503 \
                 until the usage falls; raise \"memory_limit\" above {} MB, or limit the usage (`myriad memory`)",
            mib(beside),
            mib(limit),
            // Includes the need of zones, and the fraction of the limit at which the stage is left.
            mib(beside / 4 * 5) + 1,
        ))
    }
}

/// Returns whole megabytes for a message.
pub(super) const fn mib(bytes: u64) -> u64 {
    bytes >> 20
}

fn used(sums: &PressureSums) -> String {
    format!(
        "{} MB of memory are in use, \"memory_limit\" is {} MB",
        mib(sums.resident),
        mib(sums.limit.unwrap_or(0))
    )
}

/// Returns the measures of a stage.
fn done(stage: Stage) -> &'static str {
    match stage {
        Stage::Normal => "no action is required",
        Stage::Shrinking => "cache zones are reduced in memory",
        Stage::Closing => {
            "idle connections are closed, the oldest first, and background compression is paused"
        }
        Stage::Refusing => {
            "requests to upstreams get 503, stored pages are served; raise \"memory_limit\", or limit the usage (`myriad memory`)"
        }
    }
}

/// Returns the measures taken since the start of the shortage.
fn came(began: &PressureSums, now: &PressureSums) -> String {
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
        let told = |all: &mut Beside, beside, is_calm| {
            let lines: Vec<_> = (0..30).filter_map(|_| all.line(beside, limit, is_calm)).collect();
            lines
        };
        let mut all = Beside::default();
        assert!(told(&mut all, 64 << 20, true).is_empty(), "it is within the limit");
        assert!(told(&mut all, beside, false).is_empty(), "zones give up pages");
        assert!((0..LASTING - 1).all(|_| all.line(beside, limit, true).is_none()), "it may pass");
        assert!(all.line(0, limit, true).is_none());
        let lines = told(&mut all, beside, true);
        assert_eq!(lines.len(), 1);
        assert!(
            lines[0].starts_with(
                "80 MB of memory are in use outside of cache zones, \"memory_limit\" is 64 MB: "
            )
        );
        assert!(lines[0].contains("raise \"memory_limit\" above 101 MB"), "{lines:?}");
        assert!((0..30).all(|_| Beside::default().line(beside, None, true).is_none()));
    }

    fn sums(stage: Stage, pages: u64) -> PressureSums {
        PressureSums { limit: Some(100 << 20), resident: 90 << 20, stage, pages, ..PressureSums::default() }
    }

    #[test]
    fn memory_stages_are_reported_at_intervals_and_recovery_with_counts() {
        let mut teller = Teller::default();
        let mut told = Vec::new();
        let mut before = Stage::Normal;
        for (stage, pages, now_ms) in [
            (Stage::Shrinking, 5, 0),
            (Stage::Closing, 9, 100),
            (Stage::Shrinking, 9, 200),
            (Stage::Closing, 9, 300),
            (Stage::Normal, 15, 400),
            (Stage::Shrinking, 20, 500),
            (Stage::Normal, 22, 600),
            (Stage::Shrinking, 30, 20_000),
            (Stage::Shrinking, 31, 20_100),
            (Stage::Normal, 32, 20_200),
        ] {
            told.extend(
                teller.line(before, &sums(stage, pages), now_ms).map(|(warns, line)| (now_ms, warns, line)),
            );
            before = stage;
        }
        let lines: Vec<_> =
            told.iter().map(|(at, warns, line)| (*at, *warns, line.rsplit(": ").next().unwrap())).collect();
        let of = |pages| {
            format!(
                "{pages} pages were evicted from zones, 0 idle and 0 stalled connections were closed, 0 requests were rejected"
            )
        };
        let (first, second) = (of(10), of(12));
        assert_eq!(
            lines,
            [
                (0, true, done(Stage::Shrinking)),
                (100, true, done(Stage::Closing)),
                (400, false, first.as_str()),
                (20_000, true, done(Stage::Shrinking)),
                // Counted from the start of the shortage that was not logged.
                (20_200, false, second.as_str()),
            ]
        );
        assert!(told[0].2.starts_with("90 MB of memory are in use, \"memory_limit\" is 100 MB: "));
    }
}
