//! Compression levels, chosen by measurements with `examples/levels.rs`.
//!
//! Results for a WordPress-like page of 35 KB on one core of a small shared machine (level: bytes, CPU time):
//!
//! | | fast | strong | beyond |
//! |---|---|---|---|
//! | gzip | 5: 5,882, 0.07 ms | 10: 5,748, 1.6 ms | 11: 5,709, 2.6 ms; 12: 5,718, 4 ms or more |
//! | brotli | 5: 5,679, 0.24 ms | 10: 5,369, 7 ms | 11: 5,212, 52 ms |
//! | zstd | 4: 5,942, 0.05 ms | 15: 5,740, 2 ms | 19: 5,734, 11 ms |
//!
//! Brotli 11 saves 3 % more than level 10 and takes seven times as long: with a fifth of a core, four pages per second
//! instead of thirty.
//!
//! Results for gzip of a script of 837 KB: level 1: 292 KB, 3.8 ms; level 5: 273 KB, 6.2 ms; level 10: 264 KB, 57 ms.

use crate::Coding;

/// Compression level, independent of the coding or as a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CompressionLevel {
    /// Level that is fast enough to compress a page while it is being stored.
    Fast,
    /// Level that compresses more strongly and takes longer, for frequently requested data.
    Strong,
    /// Level number of the coding (such as `gzip_comp_level`), limited to its range.
    Number(u8),
}

impl CompressionLevel {
    /// Returns the level number for a coding: 1 to 12 for gzip (streaming uses at most 9), 0 to 11 for brotli, 1 to 19
    /// for zstd; 0 for identity.
    pub const fn number(self, coding: Coding) -> u8 {
        match (self, coding) {
            (_, Coding::Identity) => 0,
            (CompressionLevel::Fast, Coding::Gzip | Coding::Brotli) => 5,
            (CompressionLevel::Fast, Coding::Zstd) => 4,
            (CompressionLevel::Strong, Coding::Gzip | Coding::Brotli) => 10,
            (CompressionLevel::Strong, Coding::Zstd) => 15,
            (CompressionLevel::Number(level), Coding::Gzip) => clamp(level, 1, 12),
            (CompressionLevel::Number(level), Coding::Brotli) => clamp(level, 0, 11),
            (CompressionLevel::Number(level), Coding::Zstd) => clamp(level, 1, 19),
        }
    }
}

/// Maximum length in bytes of a body for which [`first_gzip_level`] returns the fast level.
const MAX_FAST: u64 = 256 << 10;
/// Maximum length in bytes of a body for which [`first_gzip_level`] returns level 1. This takes 5 ms on the thread that
/// also serves other clients.
const MAX_LOWEST: u64 = 1 << 20;

/// Returns the gzip level for a body of `length` bytes that has no compressed form yet, so that the first clients do
/// not get the body uncompressed. `None` if the body is empty, or longer than 1 MB: too long to be compressed while a
/// client waits. A more strongly compressed form replaces the result later.
pub const fn first_gzip_level(length: u64) -> Option<CompressionLevel> {
    match length {
        0 => None,
        1..=MAX_FAST => Some(CompressionLevel::Fast),
        length if length <= MAX_LOWEST => Some(CompressionLevel::Number(1)),
        _ => None,
    }
}

const fn clamp(level: u8, least: u8, most: u8) -> u8 {
    if level < least {
        least
    } else if level > most {
        most
    } else {
        level
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn longer_bodies_are_compressed_with_less_effort_while_a_client_waits() {
        let level = |length| first_gzip_level(length).map(|level| level.number(Coding::Gzip));
        let lengths = [0, 1, MAX_FAST, MAX_FAST + 1, MAX_LOWEST, MAX_LOWEST + 1];
        assert_eq!(lengths.map(level), [None, Some(5), Some(5), Some(1), Some(1), None]);
    }

    #[test]
    fn any_number_is_brought_into_the_codings_range() {
        for (coding, range) in [(Coding::Gzip, 1..=12), (Coding::Brotli, 0..=11), (Coding::Zstd, 1..=19)] {
            for number in 0..=u8::MAX {
                let level = CompressionLevel::Number(number).number(coding);
                assert!(range.contains(&level), "{coding:?} {number}");
                assert!(level == number || !range.contains(&number), "{coding:?} {number}");
            }
            assert!(CompressionLevel::Fast.number(coding) < CompressionLevel::Strong.number(coding));
        }
    }
}
