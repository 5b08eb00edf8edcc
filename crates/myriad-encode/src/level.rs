//! How hard to compress.

use crate::Coding;

/// How much CPU a compression may cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Level {
    /// Cheap enough to run while a page is being stored.
    Fast,
    /// Worth it for a page that many visitors will get; made in the background.
    Strong,
    /// The coding's own number (`gzip_comp_level`, `brotli_comp_level`), brought into its range.
    Number(u8),
}

impl Level {
    /// The coding's own number for this level: gzip 1-12 (whole) or 1-9 (streaming), brotli 0-11, zstd 1-19; 0 for identity.
    pub const fn number(self, coding: Coding) -> u8 {
        match (self, coding) {
            (_, Coding::Identity) => 0,
            (Level::Fast, Coding::Gzip) => 5,
            (Level::Fast, Coding::Brotli) => 4,
            (Level::Fast, Coding::Zstd) => 3,
            (Level::Strong, Coding::Gzip) => 12,
            (Level::Strong, Coding::Brotli) => 11,
            (Level::Strong, Coding::Zstd) => 19,
            (Level::Number(level), Coding::Gzip) => clamp(level, 1, 12),
            (Level::Number(level), Coding::Brotli) => clamp(level, 0, 11),
            (Level::Number(level), Coding::Zstd) => clamp(level, 1, 19),
        }
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
