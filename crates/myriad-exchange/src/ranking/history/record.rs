//! Statistics of one step of the history, and their binary form in the history file.

use xxhash_rust::xxh3::xxh3_64;

/// Size of a record in the history file, in bytes: start time, values and checksum, eight bytes each.
pub const RECORD_BYTES: usize = 8 * (FIELDS + 2);
/// Number of statistical values in a record, each of eight bytes.
const FIELDS: usize = 25;

/// Statistics of the server for one step of the history. Counts contain the events within the step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Number of finished requests.
    pub requests: u64,
    /// Number of bytes sent to clients.
    pub bytes: u64,
    /// Number of requests sent to origins.
    pub fetches: u64,
    /// Number of client connections accepted.
    pub accepted: u64,
    /// Number of responses with status 400 to 499.
    pub status_4xx: u64,
    /// Number of responses with status 500 to 599.
    pub status_5xx: u64,
    /// Requests by cache status, in the order of [`CACHE_NAMES`](crate::traffic::CACHE_NAMES): miss, bypass, expired,
    /// stale, updating, revalidated, hit, none. Requests without a response are counted as none.
    pub cache: [u64; 8],
    /// Quantiles 50%, 90% and 99% of the time from request head to first response byte, in microseconds; 0 without
    /// responses.
    pub first_byte_us: [u64; 3],
    /// Quantiles 50% and 99% of the time from request head to first response byte, for requests with a cache status
    /// other than hit, stale and updating, in microseconds; 0 without such requests.
    pub miss_us: [u64; 2],
    /// Maximum number of open client connections among the samples of the step.
    pub connections: u64,
    /// Memory used by all zones at the last sample in the step, in bytes.
    pub memory_bytes: u64,
    /// Disk space used by all zones at the last sample in the step, in bytes.
    pub disk_bytes: u64,
    /// Maximum numbers of requests among the samples of the step, in this order: requests being processed by origins,
    /// requests that PHP pools have not accepted yet, requests waiting in queues.
    pub load: [u64; 3],
}

impl Figures {
    fn fields(&self) -> [u64; FIELDS] {
        let mut fields = [0; FIELDS];
        let parts: [&[u64]; 7] = [
            &[self.requests, self.bytes, self.fetches, self.accepted, self.status_4xx, self.status_5xx],
            &self.cache,
            &self.first_byte_us,
            &self.miss_us,
            &[self.connections],
            &[self.memory_bytes, self.disk_bytes],
            &self.load,
        ];
        let all = parts.into_iter().flatten();
        fields.iter_mut().zip(all).for_each(|(field, value)| *field = *value);
        fields
    }

    fn of(fields: &[u64; FIELDS]) -> Self {
        let at = |from: usize| fields[from];
        Self {
            requests: at(0),
            bytes: at(1),
            fetches: at(2),
            accepted: at(3),
            status_4xx: at(4),
            status_5xx: at(5),
            cache: std::array::from_fn(|index| at(6 + index)),
            first_byte_us: std::array::from_fn(|index| at(14 + index)),
            miss_us: std::array::from_fn(|index| at(17 + index)),
            connections: at(19),
            memory_bytes: at(20),
            disk_bytes: at(21),
            load: [at(22), at(23), at(24)],
        }
    }

    /// Returns these statistics combined with those that a `later` process has recorded for the same step: counts are
    /// added; quantiles are taken from the process with more requests; `connections` and `load` are the maximums of
    /// both; memory and disk space are taken from the later process.
    #[must_use]
    pub fn plus(&self, later: &Self) -> Self {
        let busier = if later.requests >= self.requests { later } else { self };
        Self {
            requests: self.requests.saturating_add(later.requests),
            bytes: self.bytes.saturating_add(later.bytes),
            fetches: self.fetches.saturating_add(later.fetches),
            accepted: self.accepted.saturating_add(later.accepted),
            status_4xx: self.status_4xx.saturating_add(later.status_4xx),
            status_5xx: self.status_5xx.saturating_add(later.status_5xx),
            cache: std::array::from_fn(|index| self.cache[index].saturating_add(later.cache[index])),
            first_byte_us: busier.first_byte_us,
            miss_us: busier.miss_us,
            connections: self.connections.max(later.connections),
            memory_bytes: later.memory_bytes,
            disk_bytes: later.disk_bytes,
            load: std::array::from_fn(|index| self.load[index].max(later.load[index])),
        }
    }
}

/// Statistics of one step of the history, with the start time of the step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HistoryRecord {
    /// Start of the step, in milliseconds since the epoch; 0 for a position that was never written.
    pub at_ms: u64,
    /// Statistics of the step.
    pub figures: Figures,
}

impl HistoryRecord {
    /// Returns the record as bytes: start, values, checksum (little-endian).
    pub fn encode(&self) -> [u8; RECORD_BYTES] {
        let mut bytes = [0; RECORD_BYTES];
        let words = std::iter::once(self.at_ms).chain(self.figures.fields());
        bytes
            .chunks_exact_mut(8)
            .zip(words)
            .for_each(|(place, word)| place.copy_from_slice(&word.to_le_bytes()));
        let checked = RECORD_BYTES - 8;
        let sum = xxh3_64(&bytes[..checked]);
        bytes[checked..].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    /// Parses a record and verifies its checksum. Returns `Ok(None)` for a position that was never written (all zeros),
    /// and an error if the checksum is wrong.
    pub fn decode(bytes: &[u8; RECORD_BYTES]) -> Result<Option<Self>, ChecksumMismatch> {
        if bytes.iter().all(|byte| *byte == 0) {
            return Ok(None);
        }
        let word = |at: usize| {
            let mut word = [0; 8];
            word.copy_from_slice(&bytes[8 * at..8 * at + 8]);
            u64::from_le_bytes(word)
        };
        if word(FIELDS + 1) != xxh3_64(&bytes[..RECORD_BYTES - 8]) {
            return Err(ChecksumMismatch);
        }
        let fields = std::array::from_fn(|index| word(index + 1));
        Ok(Some(Self { at_ms: word(0), figures: Figures::of(&fields) }))
    }
}

/// Error: the checksum of a record is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChecksumMismatch;

#[cfg(test)]
mod tests {
    use super::*;

    fn record(seed: u64) -> HistoryRecord {
        let mut rng = fastrand::Rng::with_seed(seed);
        HistoryRecord { at_ms: rng.u64(1..), figures: Figures::of(&std::array::from_fn(|_| rng.u64(..))) }
    }

    #[test]
    fn what_is_written_is_read_and_no_bit_may_change() {
        for seed in 0..200 {
            let record = record(seed);
            let mut bytes = record.encode();
            assert_eq!(HistoryRecord::decode(&bytes), Ok(Some(record)));
            let at = fastrand::Rng::with_seed(seed).usize(..RECORD_BYTES);
            bytes[at] ^= 1 << (seed % 8);
            assert_eq!(HistoryRecord::decode(&bytes), Err(ChecksumMismatch), "seed {seed}");
        }
        assert_eq!(HistoryRecord::decode(&[0; RECORD_BYTES]), Ok(None));
    }

    #[test]
    fn a_step_of_two_processes_is_the_sum_of_both() {
        let first = Figures {
            requests: 10,
            first_byte_us: [5, 6, 7],
            memory_bytes: 9,
            load: [3, 1, 0],
            ..Figures::default()
        };
        let later = Figures {
            requests: 4,
            first_byte_us: [1, 1, 1],
            memory_bytes: 2,
            load: [2, 8, 1],
            ..Figures::default()
        };
        let sum = first.plus(&later);
        assert_eq!(
            (sum.requests, sum.first_byte_us, sum.memory_bytes, sum.load),
            (14, [5, 6, 7], 2, [3, 8, 1])
        );
    }
}
