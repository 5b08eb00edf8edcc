//! Myriad's cache: a zone in memory as in the server, with all its shards.

use std::sync::Arc;

use myriad_store::{ALTERNATIVES, Admission, Completion, KeyRef, Metadata, Zone, ZoneLimits};

use super::Policy;

/// Weight of a page; its bytes are not allocated.
struct Page(usize);

impl Metadata for Page {
    type EncodingMeta = ();
    type ReplacementState = ();
    type StoredForm = Self;
    type MetaView<'a> = &'a Self;

    fn view(&self) -> &Self {
        self
    }

    fn into_stored(self, _texts: &mut Vec<u8>) -> Self {
        self
    }

    fn view_stored<'a>(stored: &'a Self, _texts: &'a [u8]) -> &'a Self {
        stored
    }

    fn weight(page: &Self) -> usize {
        page.0
    }
}

fn plain(_: &[u8], _: &mut Vec<u8>) {}

pub struct Myriad {
    zone: Zone<Page>,
    /// Bytes that the zone counts per page in addition to the page. The other candidates get the sum as the page size.
    overhead: u32,
}

impl Myriad {
    pub fn new(room: u64) -> Self {
        // A zone reserves a sixty-fourth for notes about keys that are not stored.
        let limits = ZoneLimits { memory_bytes: room as usize * 64 / 63, ..ZoneLimits::default() };
        let mut made = Self { zone: Zone::new("pages", limits), overhead: 0 };
        made.overhead = made.measured();
        made
    }

    /// Measures the overhead of a zone per page, in bytes.
    fn measured(&self) -> u32 {
        let before = self.zone.stats().bytes;
        self.store(0, 0);
        let bytes = self.zone.stats().bytes - before;
        self.zone.clear();
        bytes as u32
    }

    /// See [`Self::measured`].
    pub fn overhead() -> u32 {
        Self::new(64 << 20).overhead
    }

    fn store(&self, page: u32, bytes: u32) {
        let key = page.to_le_bytes();
        let head = Arc::new(Page(0));
        let writer = self.zone.fetch_unshared(KeyRef::new(&key), 1).admit(Admission {
            head,
            selection: None,
            length: None,
        });
        let alternatives = [const { None }; ALTERNATIVES];
        writer.complete(Completion {
            meta: Page(bytes as usize),
            now: 1,
            fresh_until: u64::MAX,
            alternatives,
        });
    }
}

impl Policy for Myriad {
    fn request(&mut self, page: u32, bytes: u32) -> bool {
        let hit = self.zone.get(KeyRef::new(&page.to_le_bytes()), plain, 2).is_some();
        if !hit {
            self.store(page, bytes - self.overhead);
        }
        hit
    }
}
