//! Verified parsing of the sections of a page file.

use xxhash_rust::xxh3::xxh3_64;

use super::header::Header;
use super::reader::Reader;
use super::{FormatError, HEADER, PIECE};

/// Parses the section of labels and verifies its checksum. Returns the hash of the page's variant, and the labels
/// (hashes by which purges find the page); 0 and no labels for a section that is empty or too short for a checksum.
pub(crate) fn read_labels(bytes: &[u8]) -> Result<(u64, Box<[u64]>), FormatError> {
    let Some((numbers, sum)) = bytes.split_last_chunk::<8>() else { return Ok((0, Box::default())) };
    if xxh3_64(numbers).to_le_bytes() != *sum {
        return Err(FormatError::Damaged);
    }
    let number = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().unwrap_or_default());
    let mut numbers = numbers.chunks_exact(8).map(number);
    Ok((numbers.next().unwrap_or(0), numbers.collect()))
}

/// Alternative encoding (such as gzip) in a page file: its index, the caller's metadata, its bytes.
pub(crate) type EncodingParts<'a> = (u8, &'a [u8], &'a [u8]);

/// Sections of a page file from the labels to the metadata, borrowed from its bytes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct HeadSections<'a> {
    pub(crate) labels: Box<[u64]>,
    pub(crate) key: &'a [u8],
    pub(crate) selector: &'a [u8],
    pub(crate) variant: &'a [u8],
    pub(crate) meta: &'a [u8],
}

impl<'a> HeadSections<'a> {
    /// Parses and verifies the bytes of a page file from the labels to the end of the metadata.
    pub(crate) fn parse(header: &Header, bytes: &'a [u8]) -> Result<Self, FormatError> {
        let mut reader = Reader(bytes);
        let mut section = |length: u32| reader.take(length as usize).ok_or(FormatError::Length);
        let labels = section(header.labels_len)?;
        let key = section(header.key_len)?;
        let selector = section(header.selector_len)?;
        let variant = section(header.variant_len)?;
        let meta = section(header.meta_len)?;
        if !reader.0.is_empty() {
            return Err(FormatError::Length);
        }
        if xxh3_64(&bytes[labels.len()..]) != header.head_sum {
            return Err(FormatError::Damaged);
        }
        Ok(Self { labels: read_labels(labels)?.1, key, selector, variant, meta })
    }
}

/// Sections of a page file from the labels to its end, borrowed from its bytes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TailSections<'a> {
    pub(crate) head: HeadSections<'a>,
    pub(crate) encodings: Vec<EncodingParts<'a>>,
}

impl<'a> TailSections<'a> {
    /// Parses and verifies the bytes of a page file from the labels to its end.
    pub(crate) fn parse(header: &Header, bytes: &'a [u8]) -> Result<Self, FormatError> {
        let head_len = usize::try_from(header.head_len()).unwrap_or(usize::MAX);
        let (head, encodings) = bytes.split_at_checked(head_len).ok_or(FormatError::Length)?;
        if encodings.len() as u64 != u64::from(header.encodings_len) {
            return Err(FormatError::Length);
        }
        let head = HeadSections::parse(header, head)?;
        if xxh3_64(encodings) != header.encodings_sum {
            return Err(FormatError::Damaged);
        }
        let encodings = read_encodings(encodings).ok_or(FormatError::Damaged)?;
        Ok(Self { head, encodings })
    }
}

fn read_encodings(bytes: &[u8]) -> Option<Vec<EncodingParts<'_>>> {
    let mut reader = Reader(bytes);
    let mut encodings = Vec::new();
    while !reader.0.is_empty() {
        let index = reader.take(1)?[0];
        let lengths = reader.take(8)?;
        let meta_len = u32::from_le_bytes(lengths[..4].try_into().ok()?);
        let len = u32::from_le_bytes(lengths[4..].try_into().ok()?);
        encodings.push((index, reader.take(meta_len as usize)?, reader.take(len as usize)?));
    }
    Some(encodings)
}

/// Parses the checksums of the body's pieces, and verifies them with the checksum in the header.
pub(crate) fn read_pieces(header: &Header, bytes: &[u8]) -> Result<Box<[u64]>, FormatError> {
    if bytes.len() as u64 != header.pieces() * 8 {
        return Err(FormatError::Length);
    }
    if xxh3_64(bytes) != header.pieces_sum {
        return Err(FormatError::Damaged);
    }
    let number = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().unwrap_or_default());
    Ok(bytes.chunks_exact(8).map(number).collect())
}

/// Verifies consecutive whole pieces of a body with their checksums. Only the last piece may be shorter than [`PIECE`].
pub(crate) fn check_pieces(bytes: &[u8], sums: &[u64]) -> Result<(), FormatError> {
    let pieces = bytes.chunks(PIECE as usize);
    if pieces.len() != sums.len() {
        return Err(FormatError::Length);
    }
    let hold = pieces.zip(sums).all(|(piece, sum)| xxh3_64(piece) == *sum);
    if hold { Ok(()) } else { Err(FormatError::Damaged) }
}

/// Parses and verifies a whole page file from arbitrary bytes, for fuzzing. Returns the length of the body.
pub fn examine(bytes: &[u8], version: u32) -> Result<u64, FormatError> {
    let whole = WholeFile::parse(bytes, version)?;
    Ok(whole.body.len() as u64)
}

/// Parsed and verified page file that is completely in memory.
#[derive(Debug)]
pub(crate) struct WholeFile<'a> {
    pub(crate) header: Header,
    pub(crate) body: &'a [u8],
    pub(crate) tail: TailSections<'a>,
}

impl<'a> WholeFile<'a> {
    pub(crate) fn parse(bytes: &'a [u8], version: u32) -> Result<Self, FormatError> {
        let first = bytes.first_chunk::<HEADER>().ok_or(FormatError::Length)?;
        let header = Header::parse(first, bytes.len() as u64, version)?;
        let body = &bytes[HEADER..header.pieces_at() as usize];
        let sums = read_pieces(&header, &bytes[header.pieces_at() as usize..header.head_at() as usize])?;
        check_pieces(body, &sums)?;
        let tail = TailSections::parse(&header, &bytes[header.head_at() as usize..])?;
        Ok(Self { header, body, tail })
    }
}
