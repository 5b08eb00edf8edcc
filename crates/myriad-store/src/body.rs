//! A stored body: shared, immutable segments, or a file that holds it.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use myriad_disk::StoredBody;
use smallvec::SmallVec;

/// The largest segment of a stored body, in bytes. A page fits into one, so that a hit is one `writev` entry; a large
/// body does not need one contiguous allocation of its size.
const SEGMENT_BYTES: usize = 256 * 1024;

/// A body in shared segments, or one too long for memory that stays on disk; cloning it copies no bytes.
#[derive(Clone, Debug)]
pub struct Body(Content);

/// The content, no larger than one segment, since most bodies are one.
#[derive(Clone, Debug)]
enum Content {
    One(Bytes),
    Long(Arc<Long>),
}

#[derive(Debug)]
struct Long {
    segments: Box<[Bytes]>,
    len: u64,
    stored: Option<Arc<StoredBody>>,
}

/// The segments of a body: mostly one.
#[derive(Clone, Debug)]
pub enum Segments {
    /// One, which is not empty.
    One(Bytes),
    /// None, or more than one.
    Several(Vec<Bytes>),
}

impl Default for Body {
    fn default() -> Self {
        Self(Content::One(Bytes::new()))
    }
}

impl From<Bytes> for Body {
    fn from(bytes: Bytes) -> Self {
        Self(Content::One(bytes))
    }
}

impl Body {
    /// Takes the segments as they are; empty ones are left out.
    pub fn from_segments(segments: impl IntoIterator<Item = Bytes>) -> Self {
        let segments: SmallVec<[Bytes; 1]> = segments.into_iter().filter(|s| !s.is_empty()).collect();
        Self::of(segments)
    }

    fn of(mut segments: SmallVec<[Bytes; 1]>) -> Self {
        if segments.len() < 2 {
            return Self(Content::One(segments.pop().unwrap_or_default()));
        }
        let len = segments.iter().map(|s| s.len() as u64).sum();
        Self(Content::Long(Arc::new(Long { segments: segments.into_vec().into(), len, stored: None })))
    }

    /// A body that stays in its file.
    pub(crate) fn on_disk(stored: Arc<StoredBody>) -> Self {
        let long = Long { segments: Box::default(), len: stored.len(), stored: Some(stored) };
        Self(Content::Long(Arc::new(long)))
    }

    /// Copies what arrived into allocations of exactly its size.
    ///
    /// Arriving segments are slices of larger read buffers, which they would keep alive for as long as the object is
    /// stored: memory that the zone's cap would not see.
    pub(crate) fn compact<'a>(arrived: impl IntoIterator<Item = &'a Bytes>, len: u64) -> Self {
        let mut left = len as usize;
        let mut segments: SmallVec<[Bytes; 1]> = SmallVec::new();
        let mut segment = BytesMut::with_capacity(left.min(SEGMENT_BYTES));
        for mut piece in arrived.into_iter().map(|b| &b[..]) {
            while !piece.is_empty() {
                let room = left.min(SEGMENT_BYTES - segment.len()).min(piece.len());
                segment.extend_from_slice(&piece[..room]);
                piece = &piece[room..];
                left -= room;
                if segment.len() == SEGMENT_BYTES {
                    let next = BytesMut::with_capacity(left.min(SEGMENT_BYTES));
                    segments.push(std::mem::replace(&mut segment, next).freeze());
                }
            }
        }
        if !segment.is_empty() {
            segments.push(segment.freeze());
        }
        Self::of(segments)
    }

    /// The file, for a body that is not in memory.
    pub fn stored(&self) -> Option<&Arc<StoredBody>> {
        match &self.0 {
            Content::One(_) => None,
            Content::Long(long) => long.stored.as_ref(),
        }
    }

    /// The segments, in order; none is empty, and an empty body or one on disk has none.
    pub fn segments(&self) -> &[Bytes] {
        match &self.0 {
            Content::One(bytes) if bytes.is_empty() => &[],
            Content::One(bytes) => std::slice::from_ref(bytes),
            Content::Long(long) => &long.segments,
        }
    }

    /// The segments, to be sent.
    pub fn into_segments(self) -> Segments {
        match self.0 {
            Content::One(bytes) if bytes.is_empty() => Segments::Several(Vec::new()),
            Content::One(bytes) => Segments::One(bytes),
            Content::Long(long) => Segments::Several(long.segments.to_vec()),
        }
    }

    /// Length in bytes.
    pub fn len(&self) -> u64 {
        match &self.0 {
            Content::One(bytes) => bytes.len() as u64,
            Content::Long(long) => long.len,
        }
    }

    /// Whether there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The rest of the segment that holds byte `offset`; `None` at the end.
    pub fn slice_at(&self, offset: u64) -> Option<Bytes> {
        let mut start = 0;
        for segment in self.segments() {
            let end = start + segment.len() as u64;
            if offset < end {
                return Some(segment.slice((offset - start) as usize..));
            }
            start = end;
        }
        None
    }

    /// Whether both bodies hold the same bytes, however they are cut.
    pub fn same_bytes(&self, other: &Body) -> bool {
        if self.len() != other.len() {
            return false;
        }
        match (self.stored(), other.stored()) {
            (None, None) => {}
            (Some(a), Some(b)) => return a.is_same(b),
            _ => return false,
        }
        let mut at = 0;
        while let (Some(a), Some(b)) = (self.slice_at(at), other.slice_at(at)) {
            let both = a.len().min(b.len());
            if a[..both] != b[..both] {
                return false;
            }
            at += both as u64;
        }
        true
    }
}
