//! Duration in two bytes, for storage with each page.

/// Number of bits of a stored duration for the leading binary digits. The other bits are the exponent.
const DIGITS: u32 = 12;

/// Duration up to 37 hours in milliseconds, with an error of at most 1/2000.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoredDuration(u16);

impl StoredDuration {
    /// Creates a duration, rounded down. Longer durations become the maximum.
    pub fn of_ms(ms: u64) -> Self {
        let shift = (u64::BITS - ms.leading_zeros()).saturating_sub(DIGITS);
        if shift > 15 {
            return Self(u16::MAX);
        }
        Self((shift as u16) << DIGITS | (ms >> shift) as u16)
    }

    /// Returns the duration in milliseconds.
    pub fn ms(self) -> u32 {
        u32::from(self.0 & ((1 << DIGITS) - 1)) << (self.0 >> DIGITS)
    }

    /// Returns the duration as bytes in a file.
    pub(crate) fn to_bytes(self) -> [u8; 2] {
        self.0.to_le_bytes()
    }

    /// Creates a duration from bytes in a file.
    pub(crate) fn of_bytes(bytes: [u8; 2]) -> Self {
        Self(u16::from_le_bytes(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_times_are_accurate_to_one_part_in_two_thousand() {
        for ms in [0, 1, 17, 4095, 4096, 5000, 70_001, 3_600_000, 134_000_000] {
            let stored_ms = u64::from(StoredDuration::of_ms(ms).ms());
            assert!(stored_ms <= ms && (ms - stored_ms) * 2000 <= ms, "{ms}: {stored_ms}");
        }
        assert_eq!(StoredDuration::of_ms(u64::MAX).ms(), 4095 << 15);
        let odd = StoredDuration::of_ms(12_345);
        assert_eq!(StoredDuration::of_bytes(odd.to_bytes()), odd);
    }
}
