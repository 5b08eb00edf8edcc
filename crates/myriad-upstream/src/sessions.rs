//! `sticky learn`: client sessions and their peers, learned from responses.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use md5::{Digest, Md5};
use myriad_base::bounded::Lru;

use crate::clock;

/// Assumed size of a sticky session in bytes: as in nginx, a zone of 1 MB holds about 8000.
const BYTES_EACH: u64 = 128;

/// Sticky sessions of a group (`sticky learn`), shared by workers and retained over reloads. The size of the zone
/// limits their number; the session without a response for the longest time is evicted first.
#[derive(Debug)]
pub struct Sessions(Mutex<Lru<SessionKey, StickySession>>);

/// Digest of the session identifier, which may be long and is confidential.
type SessionKey = [u8; 16];

#[derive(Debug)]
struct StickySession {
    /// `sticky` identifier of the peer that the session is bound to.
    sid: Arc<str>,
    /// Time of the last response for the session, in the units of [`clock::now`].
    last: u64,
}

impl Sessions {
    /// Creates the table of sessions for a zone of `bytes` bytes.
    pub(crate) fn new(bytes: u64) -> Self {
        Self(Mutex::new(Lru::new(bytes / BYTES_EACH)))
    }

    /// Changes the size of the zone to `bytes` bytes and evicts excess sessions.
    pub(crate) fn resize(&self, bytes: u64) {
        self.lock().set_max_weight(bytes / BYTES_EACH);
    }

    /// Returns the `sticky` identifier of the peer of a session; `None` for an unknown session or one without a
    /// response within the last `timeout_ms`.
    pub fn find(&self, id: &[u8], timeout_ms: u64) -> Option<Arc<str>> {
        let sessions = self.lock();
        let session = sessions.get(&key(id))?;
        session.is_alive(clock::now(), timeout_ms).then(|| Arc::clone(&session.sid))
    }

    /// Records that the peer `sid` has sent a response for a session, which remains valid for `timeout_ms`
    /// milliseconds. A session that is unknown or expired is only created if `creates` is true.
    pub fn learn(&self, id: &[u8], sid: &Arc<str>, creates: bool, timeout_ms: u64) {
        self.learn_at(clock::now(), (id, sid), creates, timeout_ms);
    }

    fn learn_at(&self, now: u64, (id, sid): (&[u8], &Arc<str>), creates: bool, timeout_ms: u64) {
        let key = key(id);
        let mut sessions = self.lock();
        // Each call removes the oldest session if it is expired, so no timer is needed.
        sessions.remove_oldest_if(|oldest| !oldest.is_alive(now, timeout_ms));
        let is_known = sessions.get(&key).is_some_and(|session| session.is_alive(now, timeout_ms));
        if is_known || creates {
            sessions.insert(key, StickySession { sid: Arc::clone(sid), last: now }, 1);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Lru<SessionKey, StickySession>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl StickySession {
    fn is_alive(&self, now: u64, timeout_ms: u64) -> bool {
        now.saturating_sub(self.last) < timeout_ms
    }
}

fn key(id: &[u8]) -> SessionKey {
    Md5::digest(id).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMEOUT_MS: u64 = 60_000;

    fn sid(name: &str) -> Arc<str> {
        name.into()
    }

    fn found(sessions: &Sessions, id: &str) -> Option<String> {
        sessions.find(id.as_bytes(), TIMEOUT_MS).map(|sid| sid.to_string())
    }

    #[test]
    fn a_session_leads_to_the_peer_that_answered_for_it_last() {
        let sessions = Sessions::new(1 << 20);
        sessions.learn(b"me", &sid("a"), false, TIMEOUT_MS);
        assert_eq!(found(&sessions, "me"), None, "nothing has created it");
        sessions.learn(b"me", &sid("a"), true, TIMEOUT_MS);
        assert_eq!((found(&sessions, "me"), found(&sessions, "Me")), (Some("a".to_owned()), None));
        sessions.learn(b"me", &sid("b"), false, TIMEOUT_MS);
        assert_eq!(found(&sessions, "me").as_deref(), Some("b"));
    }

    #[test]
    fn a_session_ends_when_it_was_not_used_for_its_timeout() {
        let sessions = Sessions::new(1 << 20);
        let now = clock::now();
        sessions.learn_at(now - TIMEOUT_MS, (b"me", &sid("a")), true, TIMEOUT_MS);
        assert_eq!(found(&sessions, "me"), None);
        sessions.learn_at(now, (b"me", &sid("b")), false, TIMEOUT_MS);
        assert_eq!(found(&sessions, "me"), None, "what is over is not made to last");
        sessions.learn_at(now, (b"you", &sid("a")), true, TIMEOUT_MS);
        assert_eq!(sessions.lock().len(), 1, "what is over has given its room back");
    }

    #[test]
    fn sessions_have_a_bound() {
        let sessions = Sessions::new(32 << 10);
        for number in 0..1000_u32 {
            sessions.learn(&number.to_le_bytes(), &sid("a"), true, TIMEOUT_MS);
        }
        assert_eq!(sessions.lock().len(), 256);
        assert!(sessions.find(&999_u32.to_le_bytes(), TIMEOUT_MS).is_some());
        sessions.resize(12_800);
        assert_eq!(sessions.lock().len(), 100);
    }
}
