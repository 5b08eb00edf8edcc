//! Parsing of content coding names, and sets of content codings.

pub use myriad_http::accept::Coding;

use crate::{brotli_coding, zstd_coding};

/// All content codings, identity first, including those that are not part of this build.
const ALL: [Coding; 4] = [Coding::Identity, Coding::Gzip, Coding::Brotli, Coding::Zstd];

/// Parses a `Content-Encoding` value, ignoring case and surrounding white space. `x-gzip` means gzip (RFC 9110
/// §8.4.1.3), and an empty value means identity. `None` for an unsupported coding, one that is not part of this build,
/// or a list of several codings.
pub fn coding_from_token(token: &[u8]) -> Option<Coding> {
    let token = token.trim_ascii();
    let is = |name: &str| token.eq_ignore_ascii_case(name.as_bytes());
    if token.is_empty() {
        return Some(Coding::Identity);
    }
    if is("x-gzip") {
        return Some(Coding::Gzip);
    }
    ALL.into_iter().find(|coding| is_compiled(*coding) && is(coding.as_str()))
}

/// Returns true if this build can encode and decode `coding`.
const fn is_compiled(coding: Coding) -> bool {
    match coding {
        Coding::Identity | Coding::Gzip => true,
        Coding::Brotli => brotli_coding::IS_COMPILED,
        Coding::Zstd => zstd_coding::IS_COMPILED,
    }
}

/// Set of content codings, stored in one byte with the bits of [`Coding::bit`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct CodingSet(u8);

impl CodingSet {
    /// Set without codings.
    pub const EMPTY: CodingSet = CodingSet(0);
    /// Set of all codings, including codings that are not part of this build.
    pub const ALL: CodingSet = CodingSet(0b1111);

    /// Returns the set with `coding`.
    #[must_use]
    pub const fn with(self, coding: Coding) -> CodingSet {
        CodingSet(self.0 | coding.bit())
    }

    /// Returns the set without `coding`.
    #[must_use]
    pub const fn without(self, coding: Coding) -> CodingSet {
        CodingSet(self.0 & !coding.bit())
    }

    /// Adds `coding`.
    pub const fn insert(&mut self, coding: Coding) {
        self.0 |= coding.bit();
    }

    /// Removes `coding`.
    pub const fn remove(&mut self, coding: Coding) {
        self.0 &= !coding.bit();
    }

    /// Returns true if the set contains `coding`.
    pub const fn contains(self, coding: Coding) -> bool {
        self.0 & coding.bit() != 0
    }

    /// Returns the codings in both sets.
    #[must_use]
    pub const fn intersection(self, other: CodingSet) -> CodingSet {
        CodingSet(self.0 & other.0)
    }

    /// Returns true if the set is empty.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns the number of codings in the set.
    pub const fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// Returns the set as bits, in the form that [`AcceptEncoding::best`](myriad_http::accept::AcceptEncoding::best)
    /// expects.
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// Returns the codings of the set, identity first.
    pub fn iter(self) -> impl Iterator<Item = Coding> {
        ALL.into_iter().filter(move |coding| self.contains(*coding))
    }
}

impl FromIterator<Coding> for CodingSet {
    fn from_iter<I: IntoIterator<Item = Coding>>(codings: I) -> CodingSet {
        codings.into_iter().fold(CodingSet::EMPTY, CodingSet::with)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back_in_any_case() {
        for coding in ALL {
            assert_eq!(coding_from_token(coding.as_str().to_uppercase().as_bytes()), Some(coding));
        }
        assert_eq!(coding_from_token(b" X-Gzip "), Some(Coding::Gzip));
        assert_eq!(coding_from_token(b""), Some(Coding::Identity));
        for unknown in ["deflate", "gzip, br", "brotli", "g"] {
            assert_eq!(coding_from_token(unknown.as_bytes()), None, "{unknown}");
        }
    }

    #[test]
    fn a_set_holds_exactly_what_was_put_in() {
        for bits in 0..16u8 {
            let chosen: Vec<Coding> =
                ALL.into_iter().enumerate().filter(|(i, _)| bits >> i & 1 == 1).map(|(_, c)| c).collect();
            let mut set: CodingSet = chosen.iter().copied().collect();
            assert_eq!(set.iter().collect::<Vec<_>>(), chosen);
            assert_eq!(set.len(), chosen.len());
            assert_eq!(set.is_empty(), chosen.is_empty());
            for coding in ALL {
                assert_eq!(set.contains(coding), chosen.contains(&coding));
                set.remove(coding);
                assert!(!set.contains(coding));
            }
            assert_eq!(set, CodingSet::EMPTY);
        }
    }
}
