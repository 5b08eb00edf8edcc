//! Pages as the disk tier knows them: what one is known by, as it is written, as it was read.

use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use myriad_index::Selection;

use crate::StoredBody;

/// What a page is known by: its key, its variant, and the fetch that brought it.
#[derive(Clone, Copy, Debug)]
pub struct PageId<'a> {
    /// The key's bytes.
    pub key: &'a [u8],
    /// XXH3-128 of the key under the folder's seed.
    pub hash: u128,
    /// Which variant of the key it is; `None` where the key has none.
    pub selection: Option<&'a Selection>,
    /// The sequence number at which its fetch began.
    pub generation: u64,
}

impl<'a> PageId<'a> {
    pub(crate) fn variant(&self) -> Option<&'a [u8]> {
        self.selection.map(|selection| &*selection.variant)
    }
}

/// What is written of a page beside its body.
#[derive(Clone, Copy, Debug)]
pub struct PageParts<'a> {
    /// When the page was completed, in ms.
    pub stored_at: u64,
    /// When it stops being fresh, in ms.
    pub fresh_until: u64,
    /// When it was last used, in seconds since the epoch.
    pub used_s: u32,
    /// Labels by which purges find it.
    pub labels: &'a [u64],
    /// The caller's metadata.
    pub meta: &'a [u8],
    /// The other encodings, made by [`crate::write_encoding`].
    pub encodings: &'a [u8],
}

/// The body of a page that was read.
#[derive(Clone, Debug)]
pub enum PageBody {
    /// All of it.
    Whole(Bytes),
    /// One that is too long: it stays in its file, to be read in pieces.
    Stored(Arc<StoredBody>),
}

/// A page that was read from its file.
#[derive(Debug)]
pub struct ReadPage {
    /// The caller's metadata.
    pub meta: Box<[u8]>,
    /// Which variant of the key it is; `None` where the key has none.
    pub selection: Option<Selection>,
    /// The sequence number at which its fetch began.
    pub generation: u64,
    /// Time at which it was completed, milliseconds of the clock of this tier; never in the future.
    pub stored_at: u64,
    /// Time at which it stops being fresh, milliseconds of that clock; 0 after a soft purge.
    pub fresh_until: u64,
    /// Milliseconds to add to times in the metadata, which are those of the clock of the process that wrote the file.
    pub shift_ms: i64,
    /// The other encodings: index, metadata, bytes.
    pub encodings: Vec<(u8, Box<[u8]>, Bytes)>,
    /// The body.
    pub body: PageBody,
}

/// What a file says of its page, the bodies left out.
#[derive(Debug)]
pub struct PageHead {
    /// The key.
    pub key: Box<[u8]>,
    /// The caller's metadata.
    pub meta: Box<[u8]>,
    /// Which variant of the key it is; `None` where the key has none.
    pub selection: Option<Selection>,
    /// The sequence number at which its fetch began.
    pub generation: u64,
    /// Time at which it was completed, milliseconds of the clock of this tier; never in the future.
    pub stored_at: u64,
    /// Time at which it stops being fresh, milliseconds of that clock; 0 after a soft purge.
    pub fresh_until: u64,
    /// Milliseconds to add to times in the metadata, which are those of the clock of the process that wrote the file.
    pub shift_ms: i64,
    /// Bytes of the body.
    pub body_len: u64,
    /// The other encodings: index, metadata, length in bytes.
    pub encodings: Vec<(u8, Box<[u8]>, usize)>,
    /// The file.
    pub file: PathBuf,
}
