//! Variants of a key: pages under one cache key that differ by request fields (`Vary`).

use std::sync::Arc;

/// Variant to which a page belongs, of a key with variants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection {
    /// Opaque bytes from which the caller derives the variant of any request: the field names in `Vary`.
    pub selector: Arc<[u8]>,
    /// Variant that follows from the page's own request: its secondary key (the values of these fields).
    pub variant: Arc<[u8]>,
}
