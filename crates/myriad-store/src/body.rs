//! Body of a stored object: shared, immutable segments in memory, or a file.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use myriad_disk::StoredBody;
use smallvec::SmallVec;

/// Maximum size of a segment into which a received or read body is copied, in bytes.
///
/// Most bodies fit into one segment, which is sent as one `writev` entry. A large body is several segments, and needs
/// no contiguous allocation.
const SEGMENT_BYTES: usize = 256 * 1024;

/// Body in shared segments, or body on disk that is too long for memory. Cloning copies no bytes.
#[derive(Clone, Debug)]
pub struct Body(BodyContent);

/// Contents of a [`Body`]. The size of this enum is that of one segment, because most bodies have only one.
#[derive(Clone, Debug)]
enum BodyContent {
    One(Bytes),
    Long(Arc<LongBody>),
}

#[derive(Debug)]
struct LongBody {
    segments: Box<[Bytes]>,
    len: u64,
    stored: Option<Arc<StoredBody>>,
}

/// Segments of a body in memory, usually one.
#[derive(Clone, Debug)]
pub enum Segments {
    /// A single segment, which is not empty.
    One(Bytes),
    /// No segment, or several.
    Several(Vec<Bytes>),
}

impl Default for Body {
    fn default() -> Self {
        Self(BodyContent::One(Bytes::new()))
    }
}

impl From<Bytes> for Body {
    fn from(bytes: Bytes) -> Self {
        Self(BodyContent::One(bytes))
    }
}

impl Body {
    /// Creates a body from segments without copying them. Empty segments are omitted.
    pub fn from_segments(segments: impl IntoIterator<Item = Bytes>) -> Self {
        let segments: SmallVec<[Bytes; 1]> = segments.into_iter().filter(|s| !s.is_empty()).collect();
        Self::of(segments)
    }

    fn of(mut segments: SmallVec<[Bytes; 1]>) -> Self {
        if segments.len() < 2 {
            return Self(BodyContent::One(segments.pop().unwrap_or_default()));
        }
        let len = segments.iter().map(|s| s.len() as u64).sum();
        Self(BodyContent::Long(Arc::new(LongBody {
            segments: segments.into_vec().into(),
            len,
            stored: None,
        })))
    }

    /// Creates a body that is read from its file in pieces.
    pub(crate) fn on_disk(stored: Arc<StoredBody>) -> Self {
        let long = LongBody { segments: Box::default(), len: stored.len(), stored: Some(stored) };
        Self(BodyContent::Long(Arc::new(long)))
    }

    /// Creates a body from received pieces, copied into segments of exactly their size. `len` is the total length in
    /// bytes.
    ///
    /// The pieces are slices of larger read buffers. Without a copy, the object would keep these buffers in memory,
    /// although the zone's memory limit does not count them.
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

    /// Returns the file of a body that is on disk; `None` for a body in memory.
    pub fn stored(&self) -> Option<&Arc<StoredBody>> {
        match &self.0 {
            BodyContent::One(_) => None,
            BodyContent::Long(long) => long.stored.as_ref(),
        }
    }

    /// Returns the segments in order, none of them empty. An empty body and a body on disk have no segments.
    pub fn segments(&self) -> &[Bytes] {
        match &self.0 {
            BodyContent::One(bytes) if bytes.is_empty() => &[],
            BodyContent::One(bytes) => std::slice::from_ref(bytes),
            BodyContent::Long(long) => &long.segments,
        }
    }

    /// Converts the body to its segments, for sending. An empty body and a body on disk have no segments.
    pub fn into_segments(self) -> Segments {
        match self.0 {
            BodyContent::One(bytes) if bytes.is_empty() => Segments::Several(Vec::new()),
            BodyContent::One(bytes) => Segments::One(bytes),
            BodyContent::Long(long) => Segments::Several(long.segments.to_vec()),
        }
    }

    /// Returns the length of the body in bytes.
    pub fn len(&self) -> u64 {
        match &self.0 {
            BodyContent::One(bytes) => bytes.len() as u64,
            BodyContent::Long(long) => long.len,
        }
    }

    /// Returns whether the body is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the rest of the segment that contains byte `offset`, from that byte on; `None` at the end or for a body
    /// on disk.
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

    /// Returns true if both bodies have the same bytes, however divided into segments. Returns false for a body on disk
    /// and a body in memory, and for two bodies on disk unless they are in the same file.
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
