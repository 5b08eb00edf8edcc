//! Static and dynamic table of HPACK (RFC 7541 §2.3, appendix A).

use std::collections::VecDeque;

/// Size in bytes that a table entry counts in addition to its name and value (RFC 7541 §4.1).
const OVERHEAD: usize = 32;

/// Names and values of the static table (RFC 7541 appendix A). Index 1 refers to its first entry.
#[rustfmt::skip]
pub(super) static STATIC: [(&[u8], &[u8]); 61] = [
    (b":authority", b""), (b":method", b"GET"), (b":method", b"POST"), (b":path", b"/"), (b":path", b"/index.html"),
    (b":scheme", b"http"), (b":scheme", b"https"), (b":status", b"200"), (b":status", b"204"), (b":status", b"206"),
    (b":status", b"304"), (b":status", b"400"), (b":status", b"404"), (b":status", b"500"), (b"accept-charset", b""),
    (b"accept-encoding", b"gzip, deflate"), (b"accept-language", b""), (b"accept-ranges", b""), (b"accept", b""),
    (b"access-control-allow-origin", b""), (b"age", b""), (b"allow", b""), (b"authorization", b""),
    (b"cache-control", b""), (b"content-disposition", b""), (b"content-encoding", b""), (b"content-language", b""),
    (b"content-length", b""), (b"content-location", b""), (b"content-range", b""), (b"content-type", b""),
    (b"cookie", b""), (b"date", b""), (b"etag", b""), (b"expect", b""), (b"expires", b""), (b"from", b""),
    (b"host", b""), (b"if-match", b""), (b"if-modified-since", b""), (b"if-none-match", b""), (b"if-range", b""),
    (b"if-unmodified-since", b""), (b"last-modified", b""), (b"link", b""), (b"location", b""),
    (b"max-forwards", b""), (b"proxy-authenticate", b""), (b"proxy-authorization", b""), (b"range", b""),
    (b"referer", b""), (b"refresh", b""), (b"retry-after", b""), (b"server", b""), (b"set-cookie", b""),
    (b"strict-transport-security", b""), (b"transfer-encoding", b""), (b"user-agent", b""), (b"vary", b""),
    (b"via", b""), (b"www-authenticate", b""),
];

/// Dynamic table: the newest entry is first, and the oldest entries are evicted.
#[derive(Debug)]
pub(super) struct HpackTable {
    entries: VecDeque<HpackEntry>,
    size: usize,
    max: usize,
}

#[derive(Debug)]
struct HpackEntry {
    /// Name of the entry, followed by its value.
    bytes: Box<[u8]>,
    name_len: usize,
}

impl HpackEntry {
    fn parts(&self) -> (&[u8], &[u8]) {
        self.bytes.split_at(self.name_len)
    }
}

impl HpackTable {
    pub(super) fn new(max: usize) -> Self {
        Self { entries: VecDeque::new(), size: 0, max }
    }

    pub(super) fn max(&self) -> usize {
        self.max
    }

    /// Returns the total size of all entries in bytes.
    #[cfg(test)]
    pub(super) fn size(&self) -> usize {
        self.size
    }

    /// Sets the maximum size in bytes, and evicts the oldest entries beyond it.
    pub(super) fn resize(&mut self, max: usize) {
        self.max = max;
        self.make_room(0);
    }

    /// Returns name and value of the entry with this index in the static and dynamic table (RFC 7541 §2.3.3); `None` if
    /// it is beyond them.
    pub(super) fn get(&self, index: usize) -> Option<(&[u8], &[u8])> {
        match STATIC.get(index.checked_sub(1)?) {
            Some(entry) => Some(*entry),
            None => self.entries.get(index - 1 - STATIC.len()).map(HpackEntry::parts),
        }
    }

    /// Adds an entry, and evicts the oldest entries beyond the maximum size. An entry that is larger than the table is
    /// not added, but empties it (RFC 7541 §4.4).
    pub(super) fn insert(&mut self, name: &[u8], value: &[u8]) {
        let size = name.len() + value.len() + OVERHEAD;
        self.make_room(size);
        if size <= self.max {
            self.size += size;
            let bytes = [name, value].concat().into_boxed_slice();
            self.entries.push_front(HpackEntry { bytes, name_len: name.len() });
        }
    }

    /// Returns the index (RFC 7541 §2.3.3: after the entries of the static table) of the dynamic entry with this name and
    /// value; `None` if there is none.
    pub(super) fn find(&self, name: &[u8], value: &[u8]) -> Option<usize> {
        let found = self.entries.iter().position(|entry| {
            entry.bytes.len() == name.len() + value.len() && entry.parts() == (name, value)
        })?;
        Some(found + 1 + STATIC.len())
    }

    fn make_room(&mut self, size: usize) {
        while self.size + size > self.max {
            let Some(oldest) = self.entries.pop_back() else { return };
            self.size -= oldest.bytes.len() + OVERHEAD;
        }
    }
}
