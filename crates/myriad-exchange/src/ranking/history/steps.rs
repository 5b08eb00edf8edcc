//! History of statistics in memory, as three ring buffers of steps.

use super::record::{Figures, HistoryRecord, RECORD_BYTES};

/// Step length (in milliseconds) and number of steps in each ring: 10 s for an hour, 1 min for a day, 10 min for two
/// weeks.
pub const LENGTHS: [(u64, usize); 3] = [(10_000, 360), (60_000, 1440), (600_000, 2016)];

/// Size of the history file's head, in bytes.
pub const HEAD_BYTES: usize = 64;

/// Returns the offset in the history file, in bytes, of the record at position `place` of ring `ring`.
pub(super) fn offset(ring: usize, place: usize) -> u64 {
    let before: usize = LENGTHS[..ring].iter().map(|(_, number)| number).sum();
    (HEAD_BYTES + (before + place) * RECORD_BYTES) as u64
}

/// Statistics of the last two weeks, in three rings with steps of different length.
#[derive(Clone, Debug)]
pub struct History {
    pub(super) rings: [Vec<HistoryRecord>; 3],
    /// Statistics that an earlier process has recorded for the current step of each ring.
    before: [HistoryRecord; 3],
}

/// Encoded record, and the offset at which it must be written to the history file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HistoryWrite {
    /// Offset of the record from the start of the file.
    pub offset: u64,
    /// Encoded record ([`HistoryRecord::encode`]).
    pub bytes: [u8; RECORD_BYTES],
}

impl Default for History {
    fn default() -> Self {
        Self {
            rings: LENGTHS.map(|(_, number)| vec![HistoryRecord::default(); number]),
            before: Default::default(),
        }
    }
}

impl History {
    /// Returns the start time of the step of a ring that contains `now_ms`, both in milliseconds since the epoch.
    pub fn step_of(ring: usize, now_ms: u64) -> u64 {
        now_ms - now_ms % LENGTHS[ring].0
    }

    /// Sets the statistics of this process for the step that starts at `at_ms`, in milliseconds since the epoch,
    /// replacing those of earlier calls. If an earlier process has recorded the same step, the sum of both is stored.
    /// Returns the record to write to the file.
    pub fn set(&mut self, ring: usize, at_ms: u64, own: &Figures) -> HistoryWrite {
        let place = Self::position(ring, at_ms);
        if self.before[ring].at_ms != at_ms {
            let known = self.rings[ring][place];
            let figures = if known.at_ms == at_ms { known.figures } else { Figures::default() };
            self.before[ring] = HistoryRecord { at_ms, figures };
        }
        let record = HistoryRecord { at_ms, figures: self.before[ring].figures.plus(own) };
        self.rings[ring][place] = record;
        HistoryWrite { offset: offset(ring, place), bytes: record.encode() }
    }

    /// Adds the statistics in `own`, which this process recorded before it could read the file. Returns the records to
    /// write to the file.
    pub fn adopt(&mut self, own: &Self) -> Vec<HistoryWrite> {
        let mut written = Vec::new();
        for (ring, records) in own.rings.iter().enumerate() {
            let mut known: Vec<&HistoryRecord> = records.iter().filter(|record| record.at_ms > 0).collect();
            // The current step comes last, because it is set again later.
            known.sort_by_key(|record| record.at_ms);
            written.extend(known.into_iter().map(|record| self.set(ring, record.at_ms, &record.figures)));
        }
        written
    }

    /// Returns the start time and the statistics of the steps of a ring that start at or after `from_ms` and are
    /// complete at `to_ms` (both in milliseconds since the epoch), oldest first. If the ring cannot contain so many
    /// steps, returns only the newest ones. The statistics of a step that was not recorded are `None`.
    pub fn steps(&self, ring: usize, from_ms: u64, to_ms: u64) -> Vec<(u64, Option<&Figures>)> {
        let (length, number) = LENGTHS[ring];
        let last = Self::step_of(ring, to_ms);
        let first = from_ms.div_ceil(length) * length;
        let first = first.max(last.saturating_sub(length * number as u64));
        let steps = (first..last).step_by(length as usize);
        steps.map(|at_ms| (at_ms, self.at(ring, at_ms))).collect()
    }

    fn at(&self, ring: usize, at_ms: u64) -> Option<&Figures> {
        let record = &self.rings[ring][Self::position(ring, at_ms)];
        (record.at_ms == at_ms).then_some(&record.figures)
    }

    pub(super) fn position(ring: usize, at_ms: u64) -> usize {
        let (length, number) = LENGTHS[ring];
        (at_ms / length) as usize % number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn requests(requests: u64) -> Figures {
        Figures { requests, ..Figures::default() }
    }

    fn shown(history: &History, ring: usize, from_ms: u64, to_ms: u64) -> Vec<(u64, Option<u64>)> {
        let steps = history.steps(ring, from_ms, to_ms).into_iter();
        steps.map(|(at_ms, figures)| (at_ms, figures.map(|figures| figures.requests))).collect()
    }

    #[test]
    fn steps_are_shown_in_their_order_and_unknown_ones_too() {
        let mut history = History::default();
        history.set(0, 100_000, &requests(1));
        history.set(0, 120_000, &requests(2));
        history.set(0, 120_000, &requests(3));
        assert_eq!(
            shown(&history, 0, 95_000, 135_000),
            [(100_000, Some(1)), (110_000, None), (120_000, Some(3))],
            "the current step is not shown"
        );
    }

    #[test]
    fn what_was_done_before_the_file_could_be_read_is_added() {
        let (mut file, mut own) = (History::default(), History::default());
        file.set(0, 100_000, &requests(5));
        own.set(0, 100_000, &requests(1));
        own.set(0, 110_000, &requests(2));
        // As after reading a file: nothing has been recorded by this process yet.
        let mut read = History { before: Default::default(), ..file };
        assert_eq!(read.adopt(&own).len(), 2);
        read.set(0, 110_000, &requests(9));
        assert_eq!(shown(&read, 0, 100_000, 120_000), [(100_000, Some(6)), (110_000, Some(9))]);
    }

    #[test]
    fn the_oldest_step_gives_way() {
        let mut history = History::default();
        for number in 0..400u64 {
            history.set(0, 10_000_000 + number * 10_000, &requests(number));
        }
        let steps = shown(&history, 0, 0, 14_000_000);
        assert_eq!(
            (steps.len(), steps[0], steps[359]),
            (360, (10_400_000, Some(40)), (13_990_000, Some(399)))
        );
    }
}
