//! The figures of one step.

use xxhash_rust::xxh3::xxh3_64;

/// Bytes of a record in the file.
pub const RECORD_BYTES: usize = 8 * (FIELDS + 2);
/// Numbers of a record.
const FIELDS: usize = 25;

/// Figures of a step. Counts are those within it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Finished requests.
    pub requests: u64,
    /// Bytes sent.
    pub bytes: u64,
    /// Requests to origins.
    pub fetches: u64,
    /// Connections accepted.
    pub accepted: u64,
    /// Answers of 400 to 499.
    pub status_4xx: u64,
    /// Answers of 500 to 599.
    pub status_5xx: u64,
    /// Requests by cache status: miss, bypass, expired, stale, updating, revalidated, hit, and those without one.
    pub cache: [u64; 8],
    /// Time to the first byte that 50%, 90%, 99% of the requests did not exceed, microseconds; 0 where there was none.
    pub first_byte_us: [u64; 3],
    /// The same for requests that asked an origin: 50%, 99%.
    pub miss_us: [u64; 2],
    /// Most connections open, of the moments of looking.
    pub connections: u64,
    /// Bytes of all zones in memory and on disk, at the last look.
    pub memory_bytes: u64,
    /// See [`Self::memory_bytes`].
    pub disk_bytes: u64,
    /// Most requests that origins were working on, that pools of PHP had not accepted, that waited in queues; of the moments of looking.
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

    /// What two processes have done within one step, the later one last. Times are those of whom more asked.
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

/// A step with when it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// Its beginning, milliseconds since the epoch; 0 for a place where none was ever written.
    pub at_ms: u64,
    /// Its figures.
    pub figures: Figures,
}

impl Record {
    /// Its bytes in the file: beginning, figures, checksum, little-endian.
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

    /// Reads one; `Ok(None)` for a place where none was ever written, an error where the checksum is wrong.
    pub fn decode(bytes: &[u8; RECORD_BYTES]) -> Result<Option<Self>, WrongSum> {
        if bytes.iter().all(|byte| *byte == 0) {
            return Ok(None);
        }
        let word = |at: usize| {
            let mut word = [0; 8];
            word.copy_from_slice(&bytes[8 * at..8 * at + 8]);
            u64::from_le_bytes(word)
        };
        if word(FIELDS + 1) != xxh3_64(&bytes[..RECORD_BYTES - 8]) {
            return Err(WrongSum);
        }
        let fields = std::array::from_fn(|index| word(index + 1));
        Ok(Some(Self { at_ms: word(0), figures: Figures::of(&fields) }))
    }
}

/// A record whose checksum is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrongSum;

#[cfg(test)]
mod tests {
    use super::*;

    fn record(seed: u64) -> Record {
        let mut rng = fastrand::Rng::with_seed(seed);
        Record { at_ms: rng.u64(1..), figures: Figures::of(&std::array::from_fn(|_| rng.u64(..))) }
    }

    #[test]
    fn what_is_written_is_read_and_no_bit_may_change() {
        for seed in 0..200 {
            let record = record(seed);
            let mut bytes = record.encode();
            assert_eq!(Record::decode(&bytes), Ok(Some(record)));
            let at = fastrand::Rng::with_seed(seed).usize(..RECORD_BYTES);
            bytes[at] ^= 1 << (seed % 8);
            assert_eq!(Record::decode(&bytes), Err(WrongSum), "seed {seed}");
        }
        assert_eq!(Record::decode(&[0; RECORD_BYTES]), Ok(None));
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
