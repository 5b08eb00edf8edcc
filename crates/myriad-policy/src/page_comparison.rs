//! Comparison of two renderings of a page, without the parts that differ at each rendering (noise): nonces, times,
//! random ids.
//!
//! A page is compared as a sequence of tokens: words, runs of white space, and other characters one by one. Two
//! renderings between which nothing was changed show where the noise is ([`Noise::between`]). [`Noise::compare`] then
//! compares later renderings outside of these places.

mod excerpt;
mod tokens;

use std::ops::Range;

pub use excerpt::excerpt;
use tokens::{is_number, is_random_pair, tokens};

/// Maximum length of pages that are compared by tokens, in bytes. A longer page only equals a rendering with the same
/// bytes.
const MAX_COMPARED_LEN: usize = 1024 * 1024;

/// Maximum number of places with noise in a page. A page with more has no stable content.
const MAX_PLACES: usize = 64;
/// Divisor of the number of tokens of a page for the maximum number of noise tokens, unless [`MIN_NOISE`] is more.
const NOISE_PART: usize = 8;
/// Number of noise tokens that is permitted in every page, however short it is.
const MIN_NOISE: usize = 32;
/// Half the maximum length of a difference, in tokens of both renderings together. After a longer difference, the
/// renderings count as entirely different. Also the number of tokens by which a place with noise may be longer in a new
/// rendering than in the stored one, except for a place at the end of the page.
const RESYNC_DISTANCE: usize = 96;
/// Number of equal tokens that terminate a difference.
const RESYNC_TOKENS: usize = 5;

/// Places of a page that differ at each rendering, as ranges of tokens. The default has no place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Noise(Vec<NoisePlace>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct NoisePlace {
    /// Index of the first token in the stored rendering.
    start: u32,
    /// Number of tokens in the stored rendering.
    len: u16,
    /// True if the renderings in which the place was found had different numbers of tokens here.
    is_elastic: bool,
}

impl Noise {
    /// Finds the places in which two renderings differ. The result applies to `later`, which is stored. Returns `None`
    /// if too much differs, so that the page has no stable content, or if the pages are too long.
    pub fn between(earlier: &[u8], later: &[u8]) -> Option<Noise> {
        if earlier.len().max(later.len()) > MAX_COMPARED_LEN {
            return None;
        }
        let (a, b) = (tokens(earlier), tokens(later));
        let permitted = (b.len() / NOISE_PART).max(MIN_NOISE);
        let (mut i, mut j, mut noisy) = (0, 0, 0);
        let mut places = Vec::new();
        while i < a.len() || j < b.len() {
            if i < a.len() && j < b.len() && a[i] == b[j] {
                (i, j) = (i + 1, j + 1);
                continue;
            }
            let (skipped, added) = resync(&a[i..], &b[j..])?;
            noisy += skipped.max(added);
            // Resynchronizing is expensive, so the search stops early on pages that differ a lot.
            if noisy > permitted || places.len() == MAX_PLACES {
                return None;
            }
            places.push(NoisePlace {
                start: u32::try_from(j).ok()?,
                len: u16::try_from(added).ok()?,
                is_elastic: skipped != added,
            });
            (i, j) = (i + skipped, j + added);
        }
        Some(Noise(places))
    }

    /// Returns whether there are no places with noise.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the byte ranges of the places in the page that they apply to. Places outside of the page are omitted.
    pub fn ranges(&self, page: &[u8]) -> Vec<Range<usize>> {
        let mut starts = vec![0];
        for token in tokens(page) {
            starts.push(starts[starts.len() - 1] + token.len());
        }
        let range = |place: &NoisePlace| {
            let first = usize::try_from(place.start).ok()?;
            Some(*starts.get(first)?..*starts.get(first + usize::from(place.len))?)
        };
        self.0.iter().filter_map(range).collect()
    }

    /// Appends the places in a form for files: per place, start and length (little-endian, 32 and 16 bits) and a flag.
    pub fn encode(&self, out: &mut Vec<u8>) {
        for place in &self.0 {
            out.extend_from_slice(&place.start.to_le_bytes());
            out.extend_from_slice(&place.len.to_le_bytes());
            out.push(u8::from(place.is_elastic));
        }
    }

    /// Parses the form that [`Noise::encode`] writes. Returns `None` for other bytes, for places that overlap or are
    /// not in order, and for more places than a page may have.
    pub fn decode(bytes: &[u8]) -> Option<Noise> {
        let (records, []) = bytes.as_chunks::<7>() else { return None };
        let mut places = Vec::with_capacity(records.len());
        let mut end = 0;
        for &[a, b, c, d, e, f, flag] in records {
            let place = NoisePlace {
                start: u32::from_le_bytes([a, b, c, d]),
                len: u16::from_le_bytes([e, f]),
                is_elastic: flag == 1,
            };
            if flag > 1 || place.start < end {
                return None;
            }
            end = place.start.checked_add(u32::from(place.len))?;
            places.push(place);
        }
        (places.len() <= MAX_PLACES).then_some(Noise(places))
    }
}

/// Finds how many tokens two sequences skip until they are equal again: the smallest sum, then the smallest difference.
/// The end of both sequences counts as equal. `None` if the sum would exceed twice [`RESYNC_DISTANCE`].
fn resync(a: &[&[u8]], b: &[&[u8]]) -> Option<(usize, usize)> {
    let is_equal_at = |i: usize, j: usize| {
        let (a, b) = (&a[i..], &b[j..]);
        let checked = RESYNC_TOKENS.min(a.len()).min(b.len());
        a[..checked] == b[..checked] && (checked == RESYNC_TOKENS || a.len() == b.len())
    };
    for sum in 1..=2 * RESYNC_DISTANCE {
        let splits = (0..=sum).filter(|i| *i <= a.len() && sum - i <= b.len());
        let nearest = splits.filter(|i| is_equal_at(*i, sum - i)).min_by_key(|i| (2 * i).abs_diff(sum));
        if let Some(i) = nearest {
            return Some((i, sum - i));
        }
    }
    None
}

/// First difference between two renderings of a page, as byte ranges; empty after the last byte of a shorter rendering.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Range in the stored rendering.
    pub stored: Range<usize>,
    /// Range in the new rendering.
    pub rendered: Range<usize>,
}

impl Noise {
    /// Compares a new rendering with the stored one, to which the places apply. Returns the places in the new rendering
    /// if both are equal outside of them. Of tokens that look like random ids, only the length is compared. Decimal
    /// numbers are not compared if `ignores_numbers` is set.
    ///
    /// # Errors
    /// Returns the first difference. If a page is longer than [`MAX_COMPARED_LEN`] and the bytes differ, the
    /// difference covers both pages completely.
    pub fn compare(
        &self,
        stored: &[u8],
        rendered: &[u8],
        ignores_numbers: bool,
    ) -> Result<Noise, Difference> {
        if stored == rendered {
            return Ok(self.clone());
        }
        if stored.len().max(rendered.len()) > MAX_COMPARED_LEN {
            return Err(Difference { stored: 0..stored.len(), rendered: 0..rendered.len() });
        }
        let (a, b) = (tokens(stored), tokens(rendered));
        let (mut i, mut j) = (0, 0);
        let differs = |i, j| {
            Err(Difference { stored: byte_range(stored, &a, i), rendered: byte_range(rendered, &b, j) })
        };
        let mut places = Vec::with_capacity(self.0.len());
        for (index, place) in self.0.iter().enumerate() {
            let start = (place.start as usize).clamp(i, a.len());
            let equal = equal_tokens(&a[i..start], &b[j..], ignores_numbers);
            if equal < start - i {
                return differs(i + equal, j + equal);
            }
            j += start - i;
            i = start + usize::from(place.len).min(a.len() - start);
            let fixed_end =
                self.0.get(index + 1).map_or(a.len(), |next| next.start as usize).clamp(i, a.len());
            let len = place.len_in(&b[j..], &a[i..fixed_end], fixed_end == a.len());
            let (start, len) = (u32::try_from(j).unwrap_or(u32::MAX), len.min(b.len() - j));
            places.push(NoisePlace { start, len: u16::try_from(len).unwrap_or(u16::MAX), ..*place });
            j += len;
        }
        let equal = equal_tokens(&a[i..], &b[j..], ignores_numbers);
        if i + equal < a.len() || j + equal < b.len() {
            return differs(i + equal, j + equal);
        }
        Ok(Noise(places))
    }
}

/// Returns the number of tokens at the start of two sequences that are equal, random ids of the same length, or decimal
/// numbers if `ignores_numbers` is set.
fn equal_tokens(a: &[&[u8]], b: &[&[u8]], ignores_numbers: bool) -> usize {
    let is_equal = |a: &[u8], b: &[u8]| {
        a == b || is_random_pair(a, b) || (ignores_numbers && is_number(a) && is_number(b))
    };
    a.iter().zip(b).take_while(|(a, b)| is_equal(a, b)).count()
}

impl NoisePlace {
    /// Returns the number of tokens at the start of `rendered` that belong to this place with noise. `following` are
    /// the fixed tokens after the place in the stored rendering; `is_last` is true if no other place with noise comes
    /// later.
    fn len_in(self, rendered: &[&[u8]], following: &[&[u8]], is_last: bool) -> usize {
        let len = usize::from(self.len);
        if !self.is_elastic {
            return len;
        }
        if is_last && following.len() <= RESYNC_TOKENS {
            return rendered.len().saturating_sub(following.len());
        }
        let sought = &following[..following.len().min(RESYNC_TOKENS)];
        let is_end = |at: &usize| rendered.get(*at..).is_some_and(|rest| rest.starts_with(sought));
        (0..=len + RESYNC_DISTANCE).find(is_end).unwrap_or(len)
    }
}

/// Returns the byte range of a token in its page; an empty range after the last byte for an index after the last token.
fn byte_range(page: &[u8], tokens: &[&[u8]], index: usize) -> Range<usize> {
    let start = tokens.get(..index).unwrap_or(tokens).iter().map(|token| token.len()).sum::<usize>();
    start.min(page.len())..(start + tokens.get(index).map_or(0, |token| token.len())).min(page.len())
}

#[cfg(test)]
mod tests;
