//! Pages in the disk tier: their identity, their parts for writing, and pages that were read.

use std::path::PathBuf;
use std::sync::Arc;

use crate::index::Selection;
use bytes::Bytes;

use crate::StoredBody;

/// Identity of a page: key, variant and fetch.
#[derive(Clone, Copy, Debug)]
pub struct PageId<'a> {
    /// Bytes of the page's cache key.
    pub key: &'a [u8],
    /// XXH3-128 of the key under the folder's seed.
    pub hash: u128,
    /// Variant of the page; `None` if the key has no variants.
    pub selection: Option<&'a Selection>,
    /// Sequence number at the start of the page's fetch.
    pub generation: u64,
}

impl<'a> PageId<'a> {
    pub(crate) fn variant(&self) -> Option<&'a [u8]> {
        self.selection.map(|selection| &*selection.variant)
    }
}

/// Parts of a page to write, except its body.
#[derive(Clone, Copy, Debug)]
pub struct PageParts<'a> {
    /// Time at which the page was complete, in milliseconds of this tier's clock.
    pub stored_at: u64,
    /// Time until which the page is fresh, in milliseconds of this tier's clock; 0 after a soft purge.
    pub fresh_until: u64,
    /// Time of the page's last use, in seconds since the epoch.
    pub used_s: u32,
    /// Labels (hashes of URL and tags) by which purges find the page.
    pub labels: &'a [u64],
    /// Caller's metadata of the page, encoded.
    pub meta: &'a [u8],
    /// Alternative encodings of the body (such as gzip), each appended by [`crate::write_encoding`].
    pub encodings: &'a [u8],
}

/// Body of a page that was read.
#[derive(Clone, Debug)]
pub enum PageBody {
    /// Complete body in memory.
    Whole(Bytes),
    /// Long body, which is read from its file in pieces.
    Stored(Arc<StoredBody>),
}

/// Page that was read from its file.
#[derive(Debug)]
pub struct ReadPage {
    /// Caller's metadata of the page, encoded.
    pub meta: Box<[u8]>,
    /// Variant of the page; `None` if the key has no variants.
    pub selection: Option<Selection>,
    /// Sequence number at the start of the page's fetch.
    pub generation: u64,
    /// Time at which the page was complete, in milliseconds of this tier's clock; never in the future.
    pub stored_at: u64,
    /// Time until which the page is fresh, in milliseconds of this tier's clock; 0 after a soft purge.
    pub fresh_until: u64,
    /// Milliseconds to add to times in the metadata, which are of the clock of the process that wrote the file.
    pub shift_ms: i64,
    /// Alternative encodings of the body (such as gzip): index, metadata, bytes.
    pub encodings: Vec<(u8, Box<[u8]>, Bytes)>,
    /// Body of the page, in memory or in its file.
    pub body: PageBody,
}

/// Description of the page in a file, without body and bytes of encodings.
#[derive(Debug)]
pub struct PageHead {
    /// Cache key of the page.
    pub key: Box<[u8]>,
    /// Caller's metadata of the page, encoded.
    pub meta: Box<[u8]>,
    /// Variant of the page; `None` if the key has no variants.
    pub selection: Option<Selection>,
    /// Sequence number at the start of the page's fetch.
    pub generation: u64,
    /// Time at which the page was complete, in milliseconds of this tier's clock; never in the future.
    pub stored_at: u64,
    /// Time until which the page is fresh, in milliseconds of this tier's clock; 0 after a soft purge.
    pub fresh_until: u64,
    /// Milliseconds to add to times in the metadata, which are of the clock of the process that wrote the file.
    pub shift_ms: i64,
    /// Length of the body, in bytes.
    pub body_len: u64,
    /// Alternative encodings of the body (such as gzip): index, metadata, length in bytes.
    pub encodings: Vec<(u8, Box<[u8]>, usize)>,
    /// Path of the file that contains the page.
    pub file: PathBuf,
}
