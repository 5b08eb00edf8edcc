//! Labels: hashes by which a store finds all pages of a URL, or of a tag.

use xxhash_rust::xxh3::Xxh3Default;

/// The label of pages that bear more tags than are kept; no other label is this number.
pub(super) const OVERFLOWN: u64 = 0;

/// The label of parts that are told apart by the caller; `kind` keeps paths, URLs and tags apart.
pub(super) fn label(kind: u8, parts: &[&[u8]]) -> u64 {
    let mut hasher = Xxh3Default::new();
    hasher.update(&[kind]);
    for part in parts {
        hasher.update(part);
    }
    hasher.digest().max(OVERFLOWN + 1)
}
