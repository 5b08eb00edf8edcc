//! Table of a TZif file (RFC 9636 section 3): offsets and the times from which they apply.

/// Offsets from UTC with the times from which they apply.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct TransitionTable {
    /// Offset before the first entry, in seconds east of UTC.
    before: i32,
    /// Times in seconds since the Unix epoch, in ascending order, each with the offset (seconds east of UTC) from then
    /// on.
    entries: Vec<(i64, i32)>,
}

impl TransitionTable {
    /// Parses the 64-bit table of a TZif file of version 2 or later. Also returns the text after the table: the rule of
    /// the zone for later times. `None` if the file is invalid.
    pub(super) fn parse(file: &[u8]) -> Option<(Self, &[u8])> {
        let first = TzifCounts::read(file)?;
        let second = file.get(HEADER + first.length(4)..)?;
        let counts = TzifCounts::read(second)?;
        let data = second.get(HEADER..)?;
        let times = data.get(..counts.times * 8)?;
        let kinds = data.get(counts.times * 8..counts.times * 9)?;
        let types = data.get(counts.times * 9..)?;
        let offset = |kind: usize| {
            let bytes = types.get(kind * 6..kind * 6 + 4)?;
            Some(i32::from_be_bytes(bytes.try_into().ok()?))
        };
        let mut entries = Vec::with_capacity(counts.times);
        for (time, kind) in times.chunks_exact(8).zip(kinds) {
            entries.push((i64::from_be_bytes(time.try_into().ok()?), offset(usize::from(*kind))?));
        }
        let footer = data.get(counts.length(8)..).unwrap_or_default();
        Some((Self { before: offset(0)?, entries }, footer.trim_ascii()))
    }

    /// Returns true if `now_s` (seconds since the Unix epoch) is at or after the last entry, or if there are no
    /// entries: the zone's rule then applies instead of the table.
    pub(super) fn ends_before(&self, now_s: i64) -> bool {
        self.entries.last().is_none_or(|(at, _)| *at <= now_s)
    }

    pub(super) fn offset_s(&self, now_s: i64) -> i32 {
        match self.entries.partition_point(|(at, _)| *at <= now_s) {
            0 => self.before,
            count => self.entries[count - 1].1,
        }
    }
}

const HEADER: usize = 44;

struct TzifCounts {
    utc: usize,
    standard: usize,
    leaps: usize,
    times: usize,
    types: usize,
    chars: usize,
}

impl TzifCounts {
    fn read(bytes: &[u8]) -> Option<Self> {
        let header = bytes.get(..HEADER)?;
        if !header.starts_with(b"TZif") {
            return None;
        }
        let count = |at: usize| {
            header[at..at + 4].iter().fold(0usize, |sum, byte| (sum << 8 | usize::from(*byte)) & 0xff_ffff)
        };
        Some(Self {
            utc: count(20),
            standard: count(24),
            leaps: count(28),
            times: count(32),
            types: count(36),
            chars: count(40),
        })
    }

    /// Returns the length in bytes of the data after the header, with times of `time_bytes` bytes.
    fn length(&self, time_bytes: usize) -> usize {
        self.times * (time_bytes + 1)
            + self.types * 6
            + self.chars
            + self.leaps * (time_bytes + 4)
            + self.standard
            + self.utc
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(times: u32, types: u32, chars: u32) -> Vec<u8> {
        let mut header = b"TZif2".to_vec();
        header.resize(20, 0);
        for count in [0, 0, 0, times, types, chars] {
            header.extend_from_slice(&count.to_be_bytes());
        }
        header
    }

    #[test]
    fn the_entry_before_a_time_holds() {
        let mut file = header(0, 0, 0);
        file.extend(header(2, 2, 4));
        for at in [100i64, 200] {
            file.extend_from_slice(&at.to_be_bytes());
        }
        file.extend_from_slice(&[1, 0]);
        for offset in [0i32, 3600] {
            file.extend_from_slice(&offset.to_be_bytes());
            file.extend_from_slice(&[0, 0]);
        }
        file.extend_from_slice(b"ABC\0\nUTC0\n");
        let (table, footer) = TransitionTable::parse(&file).expect("a table");
        assert_eq!(footer, b"UTC0");
        assert_eq!([99, 100, 199, 200].map(|at| table.offset_s(at)), [0, 3600, 3600, 0]);
        assert!(!table.ends_before(199) && table.ends_before(200));
    }

    #[test]
    fn a_cut_file_is_no_table() {
        let file = header(9, 1, 1);
        for end in 0..file.len() {
            assert!(TransitionTable::parse(&file[..end]).is_none());
        }
        assert!(TransitionTable::parse(&[file.clone(), file].concat()).is_none());
    }

    /// Creates a TZif file of version 2 with the entries `entries` (time, index of the offset), offsets of 0 and 3600
    /// seconds, and the text `rule`.
    fn file(entries: &[(i64, u8)], rule: &str) -> Vec<u8> {
        let mut file = header(0, 0, 0);
        file.extend(header(entries.len() as u32, 2, 4));
        file.extend(entries.iter().flat_map(|(at, _)| at.to_be_bytes()));
        file.extend(entries.iter().map(|(_, kind)| *kind));
        for offset in [0i32, 3600] {
            file.extend_from_slice(&offset.to_be_bytes());
            file.extend_from_slice(&[0, 0]);
        }
        file.extend_from_slice(format!("ABC\0\n{rule}\n").as_bytes());
        file
    }

    #[test]
    fn table_without_transitions_uses_first_offset_then_footer() {
        let file = file(&[], "CET-1");
        let (table, footer) = TransitionTable::parse(&file).expect("a table");
        assert_eq!((table.offset_s(0), footer), (0, &b"CET-1"[..]));
        assert!(table.ends_before(i64::MIN));
    }

    #[test]
    fn entries_before_the_epoch_hold() {
        let file = file(&[(-2_000_000_000, 1), (0, 0)], "");
        let (table, footer) = TransitionTable::parse(&file).expect("a table");
        let offsets = [-2_000_000_001, -2_000_000_000, -1, 0, i64::MAX].map(|at| table.offset_s(at));
        assert_eq!(offsets, [0, 3600, 3600, 0, 0]);
        assert!(footer.is_empty());
    }

    #[test]
    fn an_entry_of_no_offset_is_refused() {
        // The bytes after the two offsets (names and rule) are too short for this index.
        assert!(TransitionTable::parse(&file(&[(0, 200)], "")).is_none());
    }

    #[test]
    fn a_file_of_the_first_version_and_one_of_another_kind_are_refused() {
        let mut first = header(0, 1, 4);
        first.extend_from_slice(b"\0\0\0\0\0\0UTC\0");
        assert!(TransitionTable::parse(&first).is_none());
        assert!(TransitionTable::parse(b"").is_none());
        assert!(TransitionTable::parse(&[b'x'; 200]).is_none());
    }

    #[test]
    fn mutated_files_are_read_or_refused() {
        let sound = file(&[(100, 1), (200, 0), (300, 1)], "CET-1CEST,M3.5.0,M10.5.0/3");
        for seed in 0..20_000 {
            let mut random = fastrand::Rng::with_seed(seed);
            let mut file = sound.clone();
            for _ in 0..random.usize(1..4) {
                let at = random.usize(..file.len());
                file[at] = random.choice([0, 1, 2, 127, 128, 255]).expect("a byte");
            }
            file.truncate(random.usize(file.len() / 2..=file.len()));
            if let Some((table, _)) = TransitionTable::parse(&file) {
                for at in [i64::MIN, 0, 200, i64::MAX] {
                    table.offset_s(at);
                    table.ends_before(at);
                }
            }
        }
    }
}
