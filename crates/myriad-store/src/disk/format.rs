//! The format of a file.
//!
//! ```text
//! header, 128 bytes | body | a checksum for each piece of the body
//!                  | labels | key | selector | variant | metadata | encodings
//! ```
//!
//! Numbers are little-endian, checksums XXH3-64. The header holds every length, the checksums of the sections, and its
//! own; so a file is wholly verified by what it says of itself, and a body too large for memory piece by piece as it is
//! read. Labels begin with a hash of the variant and have a checksum
//! of their own at their end, so that a walk through the folder reads them and no more. The body
//! comes first because a large one is written before its length is known; the header is written last.

use xxhash_rust::xxh3::xxh3_64;

/// Bytes of a header.
pub(crate) const HEADER: usize = 128;
/// Bytes of a piece of a body, the unit that has a checksum.
pub(crate) const PIECE: u64 = 256 << 10;

const MAGIC: [u8; 8] = *b"\x89Myriad\n";
/// Raised by every change that an older reader would misread.
const FORMAT: u16 = 3;
/// Most bytes of labels.
const MOST_LABELS: u32 = 64 << 10;

/// Why a file is not what it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FormatError {
    /// Not one of ours: another program's, or of another version.
    Foreign,
    /// Cut short, or too long.
    Length,
    /// A checksum does not hold, or a part does not parse.
    Damaged,
}

impl std::fmt::Display for FormatError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Foreign => "not a file of this version",
            Self::Length => "cut short",
            Self::Damaged => "damaged",
        })
    }
}

impl std::error::Error for FormatError {}

/// What a file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A page.
    Object,
    /// What the variants of a key vary by; each has a file of its own.
    Marker,
}

/// The header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) kind: Kind,
    /// The caller's version of its metadata, and which seed the key is hashed with.
    pub(crate) version: u32,
    /// The sequence number at which the fetch began.
    pub(crate) generation: u64,
    /// Of a marker: what the names of its variants are made with. Of a variant: its marker's.
    pub(crate) family: u64,
    pub(crate) stored_at: u64,
    pub(crate) fresh_until: u64,
    pub(crate) key_len: u32,
    pub(crate) selector_len: u32,
    pub(crate) variant_len: u32,
    pub(crate) meta_len: u32,
    pub(crate) encodings_len: u32,
    /// With the hash of the variant and their checksum; 0 for a marker.
    pub(crate) labels_len: u32,
    pub(crate) body_len: u64,
    /// Of key, selector, variant and metadata.
    head_sum: u64,
    encodings_sum: u64,
    /// Of the checksums of the body's pieces.
    pub(crate) pieces_sum: u64,
    /// The key's XXH3-128 under the folder's seed.
    pub(crate) key_hash: u128,
}

impl Header {
    /// Reads a header and checks that a file of `file_len` bytes can be the one it describes.
    pub(crate) fn parse(bytes: &[u8; HEADER], file_len: u64, version: u32) -> Result<Self, FormatError> {
        let mut reader = Reader(bytes);
        if reader.take(8) != Some(&MAGIC[..]) || reader.u16() != FORMAT {
            return Err(FormatError::Foreign);
        }
        if xxh3_64(&bytes[..HEADER - 8]).to_le_bytes() != bytes[HEADER - 8..] {
            return Err(FormatError::Damaged);
        }
        let kind = match reader.u16() {
            1 => Kind::Object,
            2 => Kind::Marker,
            _ => return Err(FormatError::Foreign),
        };
        let header = Self {
            kind,
            version: reader.u32(),
            generation: reader.u64(),
            family: reader.u64(),
            stored_at: reader.u64(),
            fresh_until: reader.u64(),
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
        if header.labels_len > MOST_LABELS || !header.labels_len.is_multiple_of(8) {
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
        out.extend_from_slice(&[if self.kind == Kind::Object { 1 } else { 2 }, 0]);
        out.extend_from_slice(&self.version.to_le_bytes());
        for number in [self.generation, self.family, self.stored_at, self.fresh_until] {
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

    /// Checksums of pieces.
    pub(crate) fn pieces(&self) -> u64 {
        self.body_len.div_ceil(PIECE)
    }

    /// Where the checksums of the pieces begin.
    pub(crate) fn pieces_at(&self) -> u64 {
        HEADER as u64 + self.body_len
    }

    /// Where the labels begin, and after them the key.
    pub(crate) fn head_at(&self) -> u64 {
        self.pieces_at() + self.pieces() * 8
    }

    fn lengths(&self) -> [u32; 6] {
        let head = [self.key_len, self.selector_len, self.variant_len, self.meta_len];
        let [key, selector, variant, meta] = head;
        [key, selector, variant, meta, self.encodings_len, self.labels_len]
    }

    /// Bytes from the labels to the end of the file.
    pub(crate) fn tail_len(&self) -> u64 {
        self.lengths().iter().map(|&length| u64::from(length)).sum()
    }

    /// Bytes from the labels to the end of the metadata.
    pub(crate) fn head_len(&self) -> u64 {
        self.tail_len() - u64::from(self.encodings_len)
    }

    fn file_len(&self) -> Option<u64> {
        let pieces = self.pieces().checked_mul(8)?;
        (HEADER as u64).checked_add(self.body_len)?.checked_add(pieces)?.checked_add(self.tail_len())
    }
}

/// What is written: the sections that follow from the object itself.
#[derive(Debug)]
pub(crate) struct Sections<'a> {
    pub(crate) kind: Kind,
    pub(crate) version: u32,
    pub(crate) generation: u64,
    pub(crate) family: u64,
    pub(crate) stored_at: u64,
    pub(crate) fresh_until: u64,
    pub(crate) labels: &'a [u64],
    pub(crate) key: &'a [u8],
    pub(crate) key_hash: u128,
    pub(crate) selector: &'a [u8],
    pub(crate) variant: &'a [u8],
    pub(crate) meta: &'a [u8],
    /// Made by [`write_encoding`].
    pub(crate) encodings: &'a [u8],
}

impl Sections<'_> {
    /// Bytes of the sections.
    pub(crate) fn len(&self) -> u64 {
        let sections = [self.key, self.selector, self.variant, self.meta, self.encodings];
        self.labels_len() as u64 + sections.iter().map(|section| section.len() as u64).sum::<u64>()
    }

    fn labels_len(&self) -> usize {
        if self.kind == Kind::Object { self.labels.len() * 8 + 16 } else { 0 }
    }

    fn write_labels(&self, out: &mut Vec<u8>) {
        if self.kind == Kind::Marker {
            return;
        }
        let at = out.len();
        let variant = variant_hash((self.family != 0).then_some(self.variant));
        for number in [variant].iter().chain(self.labels) {
            out.extend_from_slice(&number.to_le_bytes());
        }
        let sum = xxh3_64(&out[at..]);
        out.extend_from_slice(&sum.to_le_bytes());
    }

    /// What stands around a body of `body_len` bytes whose pieces have these checksums: the header, and all that
    /// follows the body. `None` where a section is too long to be written.
    pub(crate) fn around(&self, body_len: u64, pieces: &[u64]) -> Option<([u8; HEADER], Vec<u8>)> {
        let mut tail = Vec::with_capacity(pieces.len() * 8 + self.len() as usize);
        for sum in pieces {
            tail.extend_from_slice(&sum.to_le_bytes());
        }
        let pieces_sum = xxh3_64(&tail);
        self.write_labels(&mut tail);
        let head_at = tail.len();
        for section in [self.key, self.selector, self.variant, self.meta] {
            tail.extend_from_slice(section);
        }
        let head_sum = xxh3_64(&tail[head_at..]);
        tail.extend_from_slice(self.encodings);
        let length = |section: &[u8]| u32::try_from(section.len()).ok();
        let header = Header {
            kind: self.kind,
            version: self.version,
            generation: self.generation,
            family: self.family,
            stored_at: self.stored_at,
            fresh_until: self.fresh_until,
            key_len: length(self.key)?,
            selector_len: length(self.selector)?,
            variant_len: length(self.variant)?,
            meta_len: length(self.meta)?,
            encodings_len: length(self.encodings)?,
            labels_len: u32::try_from(self.labels_len()).ok().filter(|&len| len <= MOST_LABELS)?,
            body_len,
            head_sum,
            encodings_sum: xxh3_64(self.encodings),
            pieces_sum,
            key_hash: self.key_hash,
        };
        Some((header.write(), tail))
    }
}

/// Appends one encoding to that section.
pub(crate) fn write_encoding(index: u8, meta: &[u8], bytes: &[u8], out: &mut Vec<u8>) {
    out.push(index);
    out.extend_from_slice(&(meta.len() as u32).to_le_bytes());
    out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
    out.extend_from_slice(meta);
    out.extend_from_slice(bytes);
}

/// A hash that tells the variants of a key apart: 0 where there are none.
pub(crate) fn variant_hash(variant: Option<&[u8]>) -> u64 {
    variant.map_or(0, |variant| xxh3_64(variant) | 1)
}

/// Reads the section of labels: the hash of the variant, and the labels.
pub(crate) fn read_labels(bytes: &[u8]) -> Result<(u64, Box<[u64]>), FormatError> {
    let Some((numbers, sum)) = bytes.split_last_chunk::<8>() else { return Ok((0, Box::default())) };
    if xxh3_64(numbers).to_le_bytes() != *sum {
        return Err(FormatError::Damaged);
    }
    let number = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().unwrap_or_default());
    let mut numbers = numbers.chunks_exact(8).map(number);
    Ok((numbers.next().unwrap_or(0), numbers.collect()))
}

/// An encoding: its index, the caller's metadata, its bytes.
pub(crate) type Encoding<'a> = (u8, &'a [u8], &'a [u8]);

/// What says what an object is, verified and taken apart.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Head<'a> {
    pub(crate) labels: Box<[u64]>,
    pub(crate) key: &'a [u8],
    pub(crate) selector: &'a [u8],
    pub(crate) variant: &'a [u8],
    pub(crate) meta: &'a [u8],
}

impl<'a> Head<'a> {
    /// Takes apart the bytes from the labels to the end of the metadata.
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

/// What follows the body, verified and taken apart.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Tail<'a> {
    pub(crate) head: Head<'a>,
    pub(crate) encodings: Vec<Encoding<'a>>,
}

impl<'a> Tail<'a> {
    /// Takes apart the bytes from the labels to the end of the file.
    pub(crate) fn parse(header: &Header, bytes: &'a [u8]) -> Result<Self, FormatError> {
        let head_len = usize::try_from(header.head_len()).unwrap_or(usize::MAX);
        let (head, encodings) = bytes.split_at_checked(head_len).ok_or(FormatError::Length)?;
        if encodings.len() as u64 != u64::from(header.encodings_len) {
            return Err(FormatError::Length);
        }
        let head = Head::parse(header, head)?;
        if xxh3_64(encodings) != header.encodings_sum {
            return Err(FormatError::Damaged);
        }
        let encodings = read_encodings(encodings).ok_or(FormatError::Damaged)?;
        Ok(Self { head, encodings })
    }
}

fn read_encodings(bytes: &[u8]) -> Option<Vec<Encoding<'_>>> {
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

/// The checksums of pieces, if they are what the header says.
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

/// Checks a stretch of the body that begins with a piece and ends with one, or with the body.
pub(crate) fn check_pieces(bytes: &[u8], sums: &[u64]) -> Result<(), FormatError> {
    let pieces = bytes.chunks(PIECE as usize);
    if pieces.len() != sums.len() {
        return Err(FormatError::Length);
    }
    let hold = pieces.zip(sums).all(|(piece, sum)| xxh3_64(piece) == *sum);
    if hold { Ok(()) } else { Err(FormatError::Damaged) }
}

/// Cuts a body that arrives in stretches of any length into pieces, and keeps their checksums.
#[derive(Default)]
pub(crate) struct PieceSums {
    sums: Vec<u64>,
    hash: xxhash_rust::xxh3::Xxh3Default,
    filled: u64,
}

impl PieceSums {
    pub(crate) fn update(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let (now, rest) = bytes.split_at(bytes.len().min((PIECE - self.filled) as usize));
            self.hash.update(now);
            self.filled += now.len() as u64;
            bytes = rest;
            if self.filled == PIECE {
                self.end_piece();
            }
        }
    }

    fn end_piece(&mut self) {
        self.sums.push(self.hash.digest());
        self.hash.reset();
        self.filled = 0;
    }

    pub(crate) fn finish(mut self) -> Vec<u64> {
        if self.filled > 0 {
            self.end_piece();
        }
        self.sums
    }
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> [u8; N] {
        // Only a header is read by this, whose length its type says.
        self.take(N).and_then(|bytes| bytes.try_into().ok()).unwrap_or([0; N])
    }

    fn u16(&mut self) -> u16 {
        u16::from_le_bytes(self.array())
    }

    fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.array())
    }

    fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.array())
    }
}

/// Reads a whole file as a look-up does, for whoever tests with bytes from outside: nothing but an error or the very
/// parts that were written may come of it. Returns the length of the body.
pub fn examine(bytes: &[u8], version: u32) -> Result<u64, FormatError> {
    let whole = Whole::parse(bytes, version)?;
    Ok(whole.body.len() as u64)
}

/// A file that is all in memory, verified.
#[derive(Debug)]
pub(crate) struct Whole<'a> {
    pub(crate) header: Header,
    pub(crate) body: &'a [u8],
    pub(crate) tail: Tail<'a>,
}

impl<'a> Whole<'a> {
    pub(crate) fn parse(bytes: &'a [u8], version: u32) -> Result<Self, FormatError> {
        let first = bytes.first_chunk::<HEADER>().ok_or(FormatError::Length)?;
        let header = Header::parse(first, bytes.len() as u64, version)?;
        let body = &bytes[HEADER..header.pieces_at() as usize];
        let sums = read_pieces(&header, &bytes[header.pieces_at() as usize..header.head_at() as usize])?;
        check_pieces(body, &sums)?;
        let tail = Tail::parse(&header, &bytes[header.head_at() as usize..])?;
        Ok(Self { header, body, tail })
    }
}
