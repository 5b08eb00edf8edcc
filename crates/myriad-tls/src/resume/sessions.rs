//! Sessions stored on the server (`ssl_session_cache`), for clients and servers without session tickets, and for early
//! data, which may be accepted only once.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use myriad_base::bounded::Lru;
use parking_lot::Mutex;
use rustls::server::StoresServerSessions;

/// Average size of a session in bytes, by which the maximum size of a session cache is computed from its number of
/// sessions. nginx counts 4000 sessions per megabyte.
const SESSION: usize = 250;
/// Maximum size in bytes of a session with its key; larger sessions are not stored. Clients influence the size, because
/// it includes their certificate chain.
const LARGEST: usize = 8192;

/// Session cache, shared by servers and retained over reloads.
#[derive(Default)]
pub(crate) struct SessionStore(Mutex<SessionLru>);

/// Total number of bytes of the sessions in all caches.
static BYTES: AtomicU64 = AtomicU64::new(0);

/// Returns the total number of bytes of the sessions in all caches of the process (`ssl_session_cache`).
pub fn session_bytes() -> u64 {
    BYTES.load(Relaxed)
}

/// TLS sessions by session ID or ticket, oldest first, with their sizes in bytes as weights; and the number of bytes by
/// which this cache contributes to [`BYTES`].
struct SessionLru(Lru<Vec<u8>, CachedSession>, u64);

impl Default for SessionLru {
    fn default() -> Self {
        Self(Lru::new(LARGEST as u64), 0)
    }
}

impl Drop for SessionLru {
    fn drop(&mut self) {
        BYTES.fetch_sub(self.1, Relaxed);
    }
}

struct CachedSession {
    value: Vec<u8>,
    /// Time at which the session expires, in seconds since the Unix epoch.
    expires_s: u64,
}

impl SessionLru {
    /// Stores a session. Evicts the oldest sessions while the oldest has expired, while the cache has more than `most`
    /// sessions, or while all sessions together are larger than `most` sessions of average size (but at least
    /// [`LARGEST`] bytes are available).
    fn put(&mut self, key: Vec<u8>, value: Vec<u8>, expires_s: u64, now_s: u64, most: usize) {
        let weight = (key.len() + value.len()) as u32;
        self.0.set_max_weight(most.saturating_mul(SESSION).max(LARGEST) as u64);
        self.0.insert(key, CachedSession { value, expires_s }, weight);
        loop {
            let is_crowded = self.0.len() > most;
            if !self.0.remove_oldest_if(|kept| is_crowded || kept.expires_s < now_s) {
                break;
            }
        }
        self.update_total_bytes();
    }

    /// Removes and returns a session, even if it has expired; `None` if there is none.
    fn take(&mut self, key: &[u8]) -> Option<CachedSession> {
        let removed = self.0.remove(key);
        self.update_total_bytes();
        removed
    }

    /// Updates the part of [`BYTES`] to which this cache contributes. The counter may wrap temporarily; the sum of all
    /// changes is correct.
    fn update_total_bytes(&mut self) {
        let now = self.0.weight();
        let before = std::mem::replace(&mut self.1, now);
        BYTES.fetch_add(now.wrapping_sub(before), Relaxed);
    }

    fn get(&self, key: &[u8], now_s: u64) -> Option<&CachedSession> {
        self.0.get(key).filter(|kept| kept.expires_s >= now_s)
    }
}

/// Session cache with the settings of a server.
pub(crate) struct ServerSessions {
    pub(crate) store: Arc<SessionStore>,
    /// Maximum number of sessions in the cache.
    pub(crate) most: u32,
    /// Lifetime of the sessions in seconds (`ssl_session_timeout`).
    pub(crate) lifetime_s: u32,
}

impl std::fmt::Debug for ServerSessions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServerSessions").field("most", &self.most).finish_non_exhaustive()
    }
}

impl StoresServerSessions for ServerSessions {
    fn put(&self, key: Vec<u8>, value: Vec<u8>) -> bool {
        if key.len() + value.len() > LARGEST {
            return false;
        }
        let now_s = now_s();
        let expires_s = now_s + u64::from(self.lifetime_s);
        self.store.0.lock().put(key, value, expires_s, now_s, self.most as usize);
        true
    }

    fn get(&self, key: &[u8]) -> Option<Vec<u8>> {
        self.store.0.lock().get(key, now_s()).map(|kept| kept.value.clone())
    }

    fn take(&self, key: &[u8]) -> Option<Vec<u8>> {
        let session = self.store.0.lock().take(key)?;
        (session.expires_s >= now_s()).then_some(session.value)
    }

    fn can_cache(&self) -> bool {
        true
    }
}

fn now_s() -> u64 {
    myriad_net::clock::wall_ms() / 1000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_are_found_until_they_expire_or_newer_ones_need_the_room() {
        let mut shelf = SessionLru::default();
        for key in 0..4u8 {
            shelf.put(vec![key], vec![key], 100, 0, 3);
        }
        assert!(shelf.get(&[0], 0).is_none());
        assert!(shelf.get(&[1], 100).is_some());
        assert!(shelf.get(&[1], 101).is_none());
    }

    #[test]
    fn long_sessions_take_the_room_of_many_and_too_long_ones_none() {
        let sessions = ServerSessions { store: Arc::default(), most: 100, lifetime_s: 60 };
        for key in 0..100u8 {
            assert!(sessions.put(vec![key], vec![0; 4999]));
        }
        assert!(sessions.put(vec![99], vec![0; 4999]), "once more, in the place of itself");
        assert!(!sessions.put(vec![100], vec![0; LARGEST]));
        let shelf = sessions.store.0.lock();
        assert_eq!((shelf.0.len(), shelf.0.weight()), (5, 25_000));
        drop(shelf);
        assert!(sessions.get(&[95]).is_some());
        for key in 95..100u8 {
            assert!(sessions.take(&[key]).is_some());
        }
        assert_eq!(sessions.store.0.lock().0.weight(), 0);
    }

    #[test]
    fn bytes_of_a_cache_are_those_of_its_sessions() {
        let mut shelf = SessionLru::default();
        shelf.put(vec![1], vec![0; 99], 100, 0, 10);
        shelf.put(vec![2], vec![0; 49], 100, 0, 10);
        assert_eq!(shelf.1, 150);
        assert!(shelf.take(&[1]).is_some());
        assert_eq!(shelf.1, 50);
        assert!(session_bytes() >= 50, "other tests have caches, too");
    }

    #[test]
    fn what_has_expired_leaves_when_another_session_comes() {
        let mut shelf = SessionLru::default();
        for key in 0..4u8 {
            shelf.put(vec![key], vec![key], 100, 0, 10);
        }
        shelf.put(vec![4], vec![4], 200, 101, 10);
        assert_eq!((shelf.0.len(), shelf.0.weight()), (1, 2));
    }

    #[test]
    fn one_that_stays_does_not_hold_the_places_of_those_that_were_taken() {
        let mut shelf = SessionLru::default();
        for key in 0..100u8 {
            shelf.put(vec![key], vec![key], 100, 0, 4);
            if key > 0 {
                shelf.0.remove(&[key][..]);
            }
        }
        assert_eq!((shelf.0.len(), shelf.0.weight()), (1, 2));
        assert!(shelf.get(&[0], 0).is_some());
    }

    #[test]
    fn taken_sessions_are_removed_from_store() {
        let sessions = ServerSessions { store: Arc::default(), most: 4, lifetime_s: 60 };
        for key in 0..100u8 {
            assert!(sessions.put(vec![key], vec![key]));
            assert_eq!(sessions.take(&[key]), Some(vec![key]));
            assert_eq!(sessions.take(&[key]), None);
        }
        assert!(sessions.store.0.lock().0.is_empty());
    }
}
