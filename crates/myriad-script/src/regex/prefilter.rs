//! Filter that excludes a match before PCRE2 runs: most patterns of a configuration require one of a few literals.

use super::literals;

/// Maximum number of literals that the filter searches; with more, it would be ineffective.
const MAX_LITERALS: usize = 64;

/// Maximum distance between two positions of a subject that the filter checks. Each position that is skipped adds
/// another window of every literal to the masks.
const MAX_STRIDE: usize = 4;

/// Filter that searches a subject for three (or two, or one) successive bytes of a required literal. Each bit of a mask
/// stands for a group of literals.
///
/// For long literals, such as cookie names, only every second to fourth position is checked: wherever a literal starts,
/// one of its windows is at a checked position.
#[derive(Debug)]
pub(super) struct Prefilter {
    /// Number of successive bytes that are checked: 1 to 3.
    width: usize,
    /// Distance between two checked positions, at most 4; 1 unless the width is 3.
    stride: usize,
    /// `masks[position][byte]`: groups of literals that have this byte at this position of a window, in either letter
    /// case.
    masks: Box<[[u8; 256]; 3]>,
}

impl Prefilter {
    /// Creates the filter of a pattern; `None` if no suitable literals are known.
    pub(super) fn new(pattern: &str) -> Option<Prefilter> {
        let literals = literals::required(pattern)?;
        let shortest = literals.iter().map(Vec::len).min()?;
        if shortest == 0 || literals.len() > MAX_LITERALS {
            return None;
        }
        let width = shortest.min(3);
        let stride = if width == 3 { (shortest - 2).min(MAX_STRIDE) } else { 1 };
        let mut masks = Box::new([[0; 256]; 3]);
        for (number, literal) in literals.iter().enumerate() {
            let rarest = literal.windows(width + stride - 1).max_by_key(|part| rarity(part))?;
            for (position, byte) in rarest.windows(width).flat_map(|window| window.iter().enumerate()) {
                for either in [byte.to_ascii_lowercase(), byte.to_ascii_uppercase()] {
                    masks[position][usize::from(either)] |= 1 << (number % 8);
                }
            }
        }
        Some(Prefilter { width, stride, masks })
    }

    /// Returns false if the subject certainly does not match.
    #[inline]
    pub(super) fn may_match(&self, subject: &[u8]) -> bool {
        let [first, second, third] = &*self.masks;
        let mask = |table: &[u8; 256], byte: u8| table[usize::from(byte)];
        match self.width {
            1 => subject.iter().any(|&a| mask(first, a) != 0),
            2 => subject.windows(2).any(|pair| mask(first, pair[0]) & mask(second, pair[1]) != 0),
            _ => subject
                .windows(3)
                .step_by(self.stride)
                .any(|triple| mask(first, triple[0]) & mask(second, triple[1]) & mask(third, triple[2]) != 0),
        }
    }
}

/// Returns an estimate of how rare a byte sequence is in URIs and cookies. Rarer sequences make a better filter.
fn rarity(part: &[u8]) -> u32 {
    part.iter()
        .map(|byte| match byte.to_ascii_lowercase() {
            b'e' | b't' | b'a' | b'o' | b'i' | b'n' | b's' | b'r' => 1,
            b'/' | b'-' | b'.' | b'=' | b'l' | b'd' | b'c' | b'm' | b'p' | b'u' | b'h' => 2,
            b'0'..=b'9' | b'g' | b'b' | b'f' | b'y' | b'w' | b'v' | b'k' => 3,
            _ => 5,
        })
        .sum()
}
