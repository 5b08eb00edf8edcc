//! Dynamic table of QPACK, which a client's encoder fills (RFC 9204 §3.2).
//!
//! An instruction that refers to an existing entry copies no text: a byte on the wire must not cause kilobytes of work.

use std::collections::VecDeque;
use std::ops::Deref;
use std::rc::Rc;

/// Size in bytes that a table entry counts in addition to its name and value (RFC 9204 §3.2.1).
pub(super) const OVERHEAD: usize = 32;

/// Name or value of an entry: in the static table, or shared between the entries that were created from each other.
#[derive(Clone, Debug)]
pub(super) enum TableText {
    Static(&'static [u8]),
    Shared(Rc<[u8]>),
}

impl Deref for TableText {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Static(bytes) => bytes,
            Self::Shared(bytes) => bytes,
        }
    }
}

/// Dynamic table of a client, from the oldest entry, which is evicted first, to the newest. Allocates no memory
/// before the first entry.
#[derive(Debug, Default)]
pub(super) struct QpackTable {
    entries: VecDeque<(TableText, TableText)>,
    size: usize,
    capacity: usize,
    inserted: u64,
}

impl QpackTable {
    /// Returns the number of entries inserted so far, including evicted ones.
    pub(super) fn inserted(&self) -> u64 {
        self.inserted
    }

    /// Sets the capacity in bytes, and evicts entries beyond it (RFC 9204 §3.2.2).
    pub(super) fn resize(&mut self, capacity: usize) {
        self.capacity = capacity;
        self.make_room(0);
    }

    /// Returns the entry with an absolute index (its number in the order of insertion); `None` if it is evicted or not
    /// inserted yet.
    pub(super) fn get(&self, absolute: u64) -> Option<&(TableText, TableText)> {
        let first = self.inserted - self.entries.len() as u64;
        self.entries.get(usize::try_from(absolute.checked_sub(first)?).ok()?)
    }

    /// Returns the entry after which `before` entries were inserted; `None` if it is not in the table.
    pub(super) fn newest(&self, before: usize) -> Option<&(TableText, TableText)> {
        self.get(self.inserted.checked_sub(before as u64 + 1)?)
    }

    /// Inserts an entry and evicts the oldest as necessary; `None` if it is larger than the capacity (RFC 9204 §3.2.2).
    pub(super) fn insert(&mut self, name: TableText, value: TableText) -> Option<()> {
        let size = name.len() + value.len() + OVERHEAD;
        if size > self.capacity {
            return None;
        }
        self.make_room(size);
        self.size += size;
        self.entries.push_back((name, value));
        self.inserted += 1;
        Some(())
    }

    /// Returns the total size of the entries in bytes.
    #[cfg(test)]
    pub(super) fn used_bytes(&self) -> usize {
        self.entries.iter().map(|(name, value)| name.len() + value.len() + OVERHEAD).sum()
    }

    fn make_room(&mut self, size: usize) {
        while self.size + size > self.capacity {
            let Some((name, value)) = self.entries.pop_front() else { return };
            self.size -= name.len() + value.len() + OVERHEAD;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &'static str) -> TableText {
        TableText::Static(text.as_bytes())
    }

    #[test]
    fn oldest_entries_go_and_the_others_keep_their_numbers() {
        let mut table = QpackTable::default();
        assert!(table.insert(text("a"), text("1")).is_none(), "no room was asked for");
        table.resize(3 * 34);
        for value in ["1", "2", "3", "4"] {
            assert!(table.insert(text("a"), text(value)).is_some());
        }
        let value = |at| table.get(at).map(|(_, value)| value.to_vec());
        assert_eq!(
            [value(0), value(1), value(3), value(4)],
            [None, Some(b"2".to_vec()), Some(b"4".to_vec()), None]
        );
        assert_eq!(&*table.newest(0).expect("an entry").1, b"4");
        assert!(
            table.newest(3).is_none() && table.newest(4).is_none() && table.newest(usize::MAX - 1).is_none()
        );
        assert!(table.insert(TableText::Shared([b'x'; 71].into()), text("")).is_none());
        assert_eq!(table.inserted(), 4);
        table.resize(0);
        assert!(table.entries.is_empty() && table.size == 0);
    }
}
