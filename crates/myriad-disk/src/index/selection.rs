//! Variants of a key.

use std::sync::Arc;

/// Variant of a key that a page belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection {
    /// Opaque bytes from which the caller derives the variant of any request (the field names of `Vary`).
    pub selector: Arc<[u8]>,
    /// Variant derived from the page's own request (its secondary key).
    pub variant: Arc<[u8]>,
}
