//! Labels: hashes by which a store finds all pages of a URL or a tag.

use xxhash_rust::xxh3::Xxh3Default;

/// Label of pages that have more tags than are stored. [`label`] never returns this value.
pub(super) const OVERFLOWN: u64 = 0;

/// Returns the hash of the concatenated parts, by which purges find pages. The caller must delimit the parts; `kind`
/// distinguishes paths, URLs and tags.
pub(super) fn label(kind: u8, parts: &[&[u8]]) -> u64 {
    let mut hasher = Xxh3Default::new();
    hasher.update(&[kind]);
    for part in parts {
        hasher.update(part);
    }
    hasher.digest().max(OVERFLOWN + 1)
}
