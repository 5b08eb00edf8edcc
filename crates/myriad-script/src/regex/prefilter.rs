//! A quick "cannot match" before PCRE2 is asked: most patterns of a configuration need one of a few literals.

use super::literals;

/// Above this many literals the groups blur and the filter stops filtering.
const MAX_LITERALS: usize = 64;

/// Finds three (or two, or one) bytes of a required literal in a subject; each bit of a mask is a group of literals.
#[derive(Debug)]
pub(super) struct Prefilter {
    /// How many bytes of each literal are looked at: 1 to 3.
    width: usize,
    /// `masks[position][byte]`: the groups that have this byte at this position, in either case.
    masks: Box<[[u8; 256]; 3]>,
}

impl Prefilter {
    /// Makes a filter for a pattern; `None` if no literal is certain to be in every match.
    pub(super) fn new(pattern: &str) -> Option<Prefilter> {
        let literals = literals::required(pattern)?;
        let width = literals.iter().map(Vec::len).min()?.min(3);
        if width == 0 || literals.len() > MAX_LITERALS {
            return None;
        }
        let mut masks = Box::new([[0; 256]; 3]);
        for (number, literal) in literals.iter().enumerate() {
            let window = literal.windows(width).max_by_key(|window| rarity(window))?;
            for (position, byte) in window.iter().enumerate() {
                for either in [byte.to_ascii_lowercase(), byte.to_ascii_uppercase()] {
                    masks[position][usize::from(either)] |= 1 << (number % 8);
                }
            }
        }
        Some(Prefilter { width, masks })
    }

    /// Whether a match is possible; `false` is certain.
    #[inline]
    pub(super) fn may_match(&self, subject: &[u8]) -> bool {
        let [first, second, third] = &*self.masks;
        let mask = |table: &[u8; 256], byte: u8| table[usize::from(byte)];
        match self.width {
            1 => subject.iter().any(|&a| mask(first, a) != 0),
            2 => subject.windows(2).any(|pair| mask(first, pair[0]) & mask(second, pair[1]) != 0),
            _ => subject
                .windows(3)
                .any(|triple| mask(first, triple[0]) & mask(second, triple[1]) & mask(third, triple[2]) != 0),
        }
    }
}

/// A rough measure of how seldom bytes occur together in URIs and cookies: the higher, the better to look for.
fn rarity(window: &[u8]) -> u32 {
    window
        .iter()
        .map(|byte| match byte.to_ascii_lowercase() {
            b'e' | b't' | b'a' | b'o' | b'i' | b'n' | b's' | b'r' => 1,
            b'/' | b'-' | b'.' | b'=' | b'l' | b'd' | b'c' | b'm' | b'p' | b'u' | b'h' => 2,
            b'0'..=b'9' | b'g' | b'b' | b'f' | b'y' | b'w' | b'v' | b'k' => 3,
            _ => 5,
        })
        .sum()
}
