//! Header of a page file: lengths, checksums, times.

use xxhash_rust::xxh3::xxh3_64;

use super::reader::Reader;
use super::{ContentKind, FormatError, HEADER, PIECE};
use crate::clock_reference::ClockReference;

const MAGIC: [u8; 8] = *b"\x89Myriad\n";
/// Version of the file format, incremented by every change that an older program would misread.
const FORMAT: u16 = 4;
/// Maximum length of the section of a page file with the labels (hashes by which purges find the page), in bytes.
pub(super) const MAX_LABELS_LEN: u32 = 64 << 10;

/// Header of a page file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) kind: ContentKind,
    /// Caller's version of its metadata (lower half), and the tag of the seed under which the key was hashed (upper
    /// half).
    pub(crate) version: u32,
    /// Sequence number at the start of the page's fetch; a later fetch has a higher number.
    pub(crate) generation: u64,
    /// Number that is part of the file names of a key's variants: in the marker and in each of its variants. 0 without
    /// variants.
    pub(crate) family: u64,
    /// Time at which the page was complete, in milliseconds of `clock`.
    pub(crate) stored_at: u64,
    /// Time until which the page is fresh, in milliseconds of `clock`; 0 after a soft purge.
    pub(crate) fresh_until: u64,
    /// Reference points of the clock of `stored_at` and `fresh_until`.
    pub(crate) clock: ClockReference,
    pub(crate) key_len: u32,
    pub(crate) selector_len: u32,
    pub(crate) variant_len: u32,
    pub(crate) meta_len: u32,
    pub(crate) encodings_len: u32,
    /// Length of the labels section (hash of the variant, labels, checksum) in bytes; 0 for a marker.
    pub(crate) labels_len: u32,
    pub(crate) body_len: u64,
    /// Checksum of the file sections with key, selector, variant and metadata.
    pub(super) head_sum: u64,
    pub(super) encodings_sum: u64,
    /// Checksum of the body pieces' checksums.
    pub(crate) pieces_sum: u64,
    /// XXH3-128 of the key under the folder's seed.
    pub(crate) key_hash: u128,
}

impl Header {
    /// Parses and verifies a header. Fails with `Foreign` if it has another magic number, format, `version` or an
    /// unknown kind, with `Damaged` if its checksum does not match or the length of the labels is invalid, and with
    /// `Length` if `file_len` is not the length that it requires.
    pub(crate) fn parse(bytes: &[u8; HEADER], file_len: u64, version: u32) -> Result<Self, FormatError> {
        let mut reader = Reader(bytes);
        if reader.take(8) != Some(&MAGIC[..]) || reader.u16() != FORMAT {
            return Err(FormatError::Foreign);
        }
        if xxh3_64(&bytes[..HEADER - 8]).to_le_bytes() != bytes[HEADER - 8..] {
            return Err(FormatError::Damaged);
        }
        let kind = match reader.u16() {
            1 => ContentKind::Object,
            2 => ContentKind::Marker,
            _ => return Err(FormatError::Foreign),
        };
        let header = Self {
            kind,
            version: reader.u32(),
            generation: reader.u64(),
            family: reader.u64(),
            stored_at: reader.u64(),
            fresh_until: reader.u64(),
            clock: ClockReference {
                boot: reader.u64(),
                boot_at_ms: reader.u64().cast_signed(),
                epoch_at_ms: reader.u64().cast_signed(),
            },
            key_len: reader.u32(),
            selector_len: reader.u32(),
            variant_len: reader.u32(),
            meta_len: reader.u32(),
            encodings_len: reader.u32(),
            labels_len: reader.u32(),
            body_len: reader.u64(),
            head_sum: reader.u64(),
            encodings_sum: reader.u64(),
            pieces_sum: reader.u64(),
            key_hash: u128::from(reader.u64()) | u128::from(reader.u64()) << 64,
        };
        if header.version != version {
            return Err(FormatError::Foreign);
        }
        if header.labels_len > MAX_LABELS_LEN || !header.labels_len.is_multiple_of(8) {
            return Err(FormatError::Damaged);
        }
        if header.file_len() != Some(file_len) {
            return Err(FormatError::Length);
        }
        Ok(header)
    }

    pub(crate) fn write(&self) -> [u8; HEADER] {
        let mut out = Vec::with_capacity(HEADER);
        out.extend_from_slice(&MAGIC);
        out.extend_from_slice(&FORMAT.to_le_bytes());
        out.extend_from_slice(&[if self.kind == ContentKind::Object { 1 } else { 2 }, 0]);
        out.extend_from_slice(&self.version.to_le_bytes());
        let ClockReference { boot, boot_at_ms, epoch_at_ms } = self.clock;
        let clock = [boot, boot_at_ms.cast_unsigned(), epoch_at_ms.cast_unsigned()];
        let times = [self.generation, self.family, self.stored_at, self.fresh_until];
        for number in times.into_iter().chain(clock) {
            out.extend_from_slice(&number.to_le_bytes());
        }
        for length in self.lengths() {
            out.extend_from_slice(&length.to_le_bytes());
        }
        for number in [self.body_len, self.head_sum, self.encodings_sum, self.pieces_sum] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        out.extend_from_slice(&self.key_hash.to_le_bytes());
        let mut header = [0; HEADER];
        header[..HEADER - 8].copy_from_slice(&out);
        let sum = xxh3_64(&header[..HEADER - 8]);
        header[HEADER - 8..].copy_from_slice(&sum.to_le_bytes());
        header
    }

    /// Returns the number of pieces of the body, each with its own checksum.
    pub(crate) fn pieces(&self) -> u64 {
        self.body_len.div_ceil(PIECE)
    }

    /// Returns the offset in the file of the checksums of the body's pieces, which follow the body.
    pub(crate) fn pieces_at(&self) -> u64 {
        HEADER as u64 + self.body_len
    }

    /// Returns the offset in the file of the labels, the first section after the checksums of the body's pieces.
    pub(crate) fn head_at(&self) -> u64 {
        self.pieces_at() + self.pieces() * 8
    }

    fn lengths(&self) -> [u32; 6] {
        let head = [self.key_len, self.selector_len, self.variant_len, self.meta_len];
        let [key, selector, variant, meta] = head;
        [key, selector, variant, meta, self.encodings_len, self.labels_len]
    }

    /// Returns the number of bytes from the labels to the end of the file.
    pub(crate) fn tail_len(&self) -> u64 {
        self.lengths().iter().map(|&length| u64::from(length)).sum()
    }

    /// Returns the number of bytes from the labels to the end of the metadata, thus without the encodings.
    pub(crate) fn head_len(&self) -> u64 {
        self.tail_len() - u64::from(self.encodings_len)
    }

    fn file_len(&self) -> Option<u64> {
        let pieces = self.pieces().checked_mul(8)?;
        (HEADER as u64).checked_add(self.body_len)?.checked_add(pieces)?.checked_add(self.tail_len())
    }
}
