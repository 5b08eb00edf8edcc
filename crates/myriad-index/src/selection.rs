//! Variants of a key.

use std::sync::Arc;

/// Which variant of its key a page is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection {
    /// Opaque bytes from which the caller derives the variant of any request (the field names of `Vary`).
    pub selector: Arc<[u8]>,
    /// The variant that the page's own request gave (its secondary key).
    pub variant: Arc<[u8]>,
}
