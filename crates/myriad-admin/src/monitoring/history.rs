//! Response with the history of figures.

use crate::protocol::monitoring::{HistoryReport, HistoryRequest, HistorySeries};
use crate::protocol::{AdminReply, ReplyEnd};
use myriad_exchange::ranking::history::{Figures, LENGTHS};
use myriad_policy::CacheStatus;

use super::counts_snapshot::KINDS;
use super::top_pages::ms;
use crate::admin::{Administrator, ReplyResult, ReplySink};

/// Default and maximum value of the argument `range` of history requests, in seconds.
const RANGE_S: (u64, u64) = (3600, 14 * 86_400);

impl Administrator {
    pub(crate) fn history(&self, request: &HistoryRequest, tell: &mut ReplySink<'_>) -> ReplyResult {
        let range_s = request.range.unwrap_or(RANGE_S.0);
        if range_s == 0 || range_s > RANGE_S.1 {
            return Err(format!("\"range\" must be a number of seconds from 1 to {}", RANGE_S.1));
        }
        let ring = ring(range_s, request.step)?;
        let to_ms = myriad_net::clock::wall_ms();
        let from_ms = to_ms.saturating_sub(range_s * 1000);
        let mut report =
            HistoryReport { step_s: LENGTHS[ring].0 / 1000, from_ms, to_ms, ..HistoryReport::default() };
        if let Some(history) = self.sight()?.history.lock().as_ref() {
            report.kept = true;
            for (at_ms, figures) in history.steps(ring, from_ms, to_ms) {
                report.at_ms.push(at_ms);
                push(&mut report.series, figures);
            }
        }
        report.points = report.at_ms.len();
        tell(AdminReply::History(Box::new(report)));
        Ok(ReplyEnd::default())
    }
}

/// Returns the index of the history series whose steps are `step_s` seconds long, or without it of the one with the
/// shortest steps that covers the range. Returns an error text if there is none.
fn ring(range_s: u64, step_s: Option<u64>) -> Result<usize, String> {
    let found = match step_s {
        Some(step_s) => LENGTHS.iter().position(|(length, _)| *length == step_s.saturating_mul(1000)),
        None => LENGTHS
            .iter()
            .position(|(length, number)| length * *number as u64 >= range_s.saturating_mul(1000)),
    };
    found.ok_or_else(|| "\"step\" must be 10, 60 or 600 seconds".to_owned())
}

fn push(series: &mut HistorySeries, figures: Option<&Figures>) {
    let count = |list: &mut Vec<Option<u64>>, of: fn(&Figures) -> u64| list.push(figures.map(of));
    count(&mut series.requests, |figures| figures.requests);
    count(&mut series.bytes, |figures| figures.bytes);
    count(&mut series.fetches, |figures| figures.fetches);
    count(&mut series.accepted, |figures| figures.accepted);
    count(&mut series.status_4xx, |figures| figures.status_4xx);
    count(&mut series.status_5xx, |figures| figures.status_5xx);
    count(&mut series.hit, |figures| figures.cache[CacheStatus::Hit as usize]);
    count(&mut series.miss, |figures| figures.cache[CacheStatus::Miss as usize]);
    count(&mut series.expired, |figures| figures.cache[CacheStatus::Expired as usize]);
    count(&mut series.stale, |figures| figures.cache[CacheStatus::Stale as usize]);
    count(&mut series.updating, |figures| figures.cache[CacheStatus::Updating as usize]);
    count(&mut series.revalidated, |figures| figures.cache[CacheStatus::Revalidated as usize]);
    count(&mut series.bypass, |figures| figures.cache[CacheStatus::Bypass as usize]);
    count(&mut series.uncached, |figures| figures.cache[KINDS - 1]);
    count(&mut series.connections, |figures| figures.connections);
    count(&mut series.memory_bytes, |figures| figures.memory_bytes);
    count(&mut series.disk_bytes, |figures| figures.disk_bytes);
    count(&mut series.origin_active, |figures| figures.load[0]);
    count(&mut series.listen_queue, |figures| figures.load[1]);
    count(&mut series.waiting, |figures| figures.load[2]);
    // 0 means that there were no such requests during the step.
    let time = |list: &mut Vec<Option<f64>>, of: fn(&Figures) -> u64| {
        list.push(figures.map(of).filter(|us| *us > 0).map(ms));
    };
    time(&mut series.first_byte_p50, |figures| figures.first_byte_us[0]);
    time(&mut series.first_byte_p90, |figures| figures.first_byte_us[1]);
    time(&mut series.first_byte_p99, |figures| figures.first_byte_us[2]);
    time(&mut series.miss_p50, |figures| figures.miss_us[0]);
    time(&mut series.miss_p99, |figures| figures.miss_us[1]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finest_steps_that_cover_the_range_are_taken() {
        for (range_s, step_s, expected) in [
            (60, None, 0),
            (3600, None, 0),
            (3601, None, 1),
            (86_400, None, 1),
            (86_401, None, 2),
            (60, Some(600), 2),
        ] {
            assert_eq!(ring(range_s, step_s), Ok(expected), "{range_s} {step_s:?}");
        }
        assert!(ring(60, Some(7)).is_err());
        assert!(ring(u64::MAX, None).is_err() && ring(60, Some(u64::MAX)).is_err());
    }
}
