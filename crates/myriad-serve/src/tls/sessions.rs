//! Sessions that are kept here (`ssl_session_cache`): for clients of TLS 1.2 without tickets, and for early data, which may be
//! taken once only.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use parking_lot::Mutex;
use rustls::server::StoresServerSessions;

/// A cache that servers share, over reloads too.
#[derive(Default)]
pub(crate) struct SessionStore(Mutex<Shelf>);

#[derive(Default)]
struct Shelf {
    sessions: HashMap<Vec<u8>, Kept>,
    /// The oldest first; what was taken out is still listed.
    order: VecDeque<(Vec<u8>, u64)>,
    turn: u64,
}

struct Kept {
    value: Vec<u8>,
    expires_s: u64,
    turn: u64,
}

impl Shelf {
    fn put(&mut self, key: Vec<u8>, value: Vec<u8>, expires_s: u64, most: usize) {
        self.turn += 1;
        self.order.push_back((key.clone(), self.turn));
        self.sessions.insert(key, Kept { value, expires_s, turn: self.turn });
        while self.sessions.len() > most || self.order.len() > most.saturating_mul(2) {
            let Some((oldest, turn)) = self.order.pop_front() else { break };
            if self.sessions.get(&oldest).is_some_and(|kept| kept.turn == turn) {
                self.sessions.remove(&oldest);
            }
        }
    }

    fn get(&self, key: &[u8], now_s: u64) -> Option<&Kept> {
        self.sessions.get(key).filter(|kept| kept.expires_s >= now_s)
    }
}

/// A server's share of a cache.
pub(crate) struct Sessions {
    pub(crate) store: Arc<SessionStore>,
    /// How many sessions the cache holds at most.
    pub(crate) most: u32,
    /// `ssl_session_timeout`, seconds.
    pub(crate) lifetime_s: u32,
}

impl std::fmt::Debug for Sessions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sessions").field("most", &self.most).finish_non_exhaustive()
    }
}

impl StoresServerSessions for Sessions {
    fn put(&self, key: Vec<u8>, value: Vec<u8>) -> bool {
        let expires_s = now_s() + u64::from(self.lifetime_s);
        self.store.0.lock().put(key, value, expires_s, self.most as usize);
        true
    }

    fn get(&self, key: &[u8]) -> Option<Vec<u8>> {
        self.store.0.lock().get(key, now_s()).map(|kept| kept.value.clone())
    }

    fn take(&self, key: &[u8]) -> Option<Vec<u8>> {
        let kept = self.store.0.lock().sessions.remove(key)?;
        (kept.expires_s >= now_s()).then_some(kept.value)
    }

    fn can_cache(&self) -> bool {
        true
    }
}

fn now_s() -> u64 {
    myriad_net::clock::now_ms() / 1000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_are_found_until_they_expire_or_newer_ones_need_the_room() {
        let mut shelf = Shelf::default();
        for key in 0..4u8 {
            shelf.put(vec![key], vec![key], 100, 3);
        }
        assert!(shelf.get(&[0], 0).is_none());
        assert!(shelf.get(&[1], 100).is_some());
        assert!(shelf.get(&[1], 101).is_none());
    }

    #[test]
    fn taken_sessions_leave_no_room_behind() {
        let sessions = Sessions { store: Arc::default(), most: 4, lifetime_s: 60 };
        for key in 0..100u8 {
            assert!(sessions.put(vec![key], vec![key]));
            assert_eq!(sessions.take(&[key]), Some(vec![key]));
            assert_eq!(sessions.take(&[key]), None);
        }
        assert!(sessions.store.0.lock().order.len() <= 8);
    }
}
