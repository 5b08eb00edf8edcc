//! Counts of concurrent requests by key.

use std::sync::Arc;

use myriad_base::bounded::Lru;
use parking_lot::Mutex;

use crate::limit_zone::{LimitTable, weight};

/// Memory per entry of a zone's table in addition to the key, in bytes. Chosen so that an entry with an IPv4 address
/// takes 64 bytes, as in the manual of nginx.
const OVERHEAD: usize = 36;

/// Numbers of concurrent requests (in `stream`: sessions) by key: the table of a `limit_conn` zone, shared by all
/// workers.
pub struct ConnectionTable {
    counts: Mutex<Lru<Box<[u8]>, u16>>,
}

/// Guard of a request (in `stream`: of a session) that is counted in a `limit_conn` zone, until the guard is dropped.
pub struct CountedRequest {
    table: Arc<ConnectionTable>,
    key: Box<[u8]>,
}

impl LimitTable for ConnectionTable {
    fn new(bytes: u64) -> Self {
        Self { counts: Mutex::new(Lru::new(bytes)) }
    }

    /// Sets the maximum size of the table in bytes. Requests whose keys are evicted are no longer counted.
    fn resize(&self, bytes: u64) {
        self.counts.lock().set_max_weight(bytes);
    }
}

impl ConnectionTable {
    /// Counts a request with this key. Returns `None`, without counting it, if `most` requests of the key are counted
    /// already, or if no request of the key is counted and the table is full.
    pub fn try_count(self: &Arc<Self>, key: &[u8], most: u16) -> Option<CountedRequest> {
        let mut counts = self.counts.lock();
        match counts.get_mut(key) {
            Some(count) if *count >= most => return None,
            Some(count) => *count += 1,
            None => {
                let weight = weight(key, OVERHEAD);
                if !counts.has_room(weight) {
                    return None;
                }
                counts.insert(key.into(), 1, weight);
            }
        }
        Some(CountedRequest { table: Arc::clone(self), key: key.into() })
    }
}

impl Drop for CountedRequest {
    fn drop(&mut self) {
        let mut counts = self.table.counts.lock();
        let Some(count) = counts.get_mut(&self.key) else { return };
        *count -= 1;
        if *count == 0 {
            counts.remove(&self.key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_key_holds_its_own_number_and_gives_back() {
        let table = Arc::new(ConnectionTable::new(1 << 20));
        let first = table.try_count(b"a", 2).expect("the first");
        let second = table.try_count(b"a", 2).expect("the second");
        assert!(table.try_count(b"a", 2).is_none());
        assert!(table.try_count(b"b", 1).is_some());
        drop(first);
        let third = table.try_count(b"a", 2).expect("a free slot");
        assert!(table.try_count(b"a", 2).is_none());
        drop((second, third));
        assert_eq!(table.counts.lock().len(), 0);
    }

    #[test]
    fn full_table_refuses_new_keys_and_retains_counts() {
        let table = Arc::new(ConnectionTable::new(128));
        let held: Vec<_> = [b"a", b"b"].map(|key| table.try_count(key, 1).expect("room")).into();
        assert!(table.try_count(b"c", 1).is_none());
        assert!(table.try_count(b"a", 1).is_none());
        table.resize(64);
        // The resize has evicted one key; dropping its guard must not change another count.
        drop(held);
        assert_eq!(table.counts.lock().len(), 0);
        assert!(table.try_count(b"c", 1).is_some());
    }

    #[test]
    fn threads_never_hold_more_than_they_may() {
        let table = Arc::new(ConnectionTable::new(1 << 20));
        let most = std::sync::atomic::AtomicUsize::new(0);
        let now = std::sync::atomic::AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..2_000 {
                        if let Some(_held) = table.try_count(b"a", 3) {
                            use std::sync::atomic::Ordering::SeqCst;
                            let count = now.fetch_add(1, SeqCst) + 1;
                            most.fetch_max(count, SeqCst);
                            now.fetch_sub(1, SeqCst);
                        }
                    }
                });
            }
        });
        assert!(most.into_inner() <= 3);
        assert_eq!(table.counts.lock().len(), 0);
    }
}
