//! Restriction of session resumption: a session may be resumed only by servers with the same certificates and the same
//! requirements for client certificates.
//!
//! Servers share ticket keys and session caches. Without the restriction, a session with one server could be resumed
//! with another server that has a different certificate or verifies client certificates differently. OpenSSL has the
//! session ID context for this.

use std::sync::Arc;

use aws_lc_rs::digest::{Context, SHA256, SHA256_OUTPUT_LEN};
use rustls::server::{ProducesTickets, StoresServerSessions};

/// Digest of a server's certificates and of its requirements for client certificates. Only servers with the same digest
/// can resume a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SessionContext([u8; SHA256_OUTPUT_LEN]);

impl SessionContext {
    /// Computes the digest of the given pieces of data in order, including their lengths.
    pub(crate) fn of<T: AsRef<[u8]>>(pieces: impl IntoIterator<Item = T>) -> Self {
        let mut digest = Context::new(&SHA256);
        for piece in pieces {
            let piece = piece.as_ref();
            digest.update(&(piece.len() as u64).to_be_bytes());
            digest.update(piece);
        }
        let mut all = [0; SHA256_OUTPUT_LEN];
        all.copy_from_slice(digest.finish().as_ref());
        Self(all)
    }

    /// Prepends the context to a serialized session before it is encrypted or stored.
    fn prepend_context(&self, session: &[u8]) -> Vec<u8> {
        [&self.0, session].concat()
    }

    /// Removes the context from the start of a serialized session; `None` if the session has another context.
    fn strip_context(&self, marked: &[u8]) -> Option<Vec<u8>> {
        marked.strip_prefix(&self.0).map(<[u8]>::to_vec)
    }
}

/// Ticket cipher or session cache (`all`) restricted to one context: sessions of other contexts are not found.
#[derive(Debug)]
pub(crate) struct ContextView<S: ?Sized> {
    pub(crate) context: SessionContext,
    pub(crate) all: Arc<S>,
}

impl<S: ProducesTickets + ?Sized> ProducesTickets for ContextView<S> {
    fn enabled(&self) -> bool {
        self.all.enabled()
    }

    fn lifetime(&self) -> u32 {
        self.all.lifetime()
    }

    fn encrypt(&self, plain: &[u8]) -> Option<Vec<u8>> {
        self.all.encrypt(&self.context.prepend_context(plain))
    }

    fn decrypt(&self, cipher: &[u8]) -> Option<Vec<u8>> {
        self.context.strip_context(&self.all.decrypt(cipher)?)
    }
}

impl<S: StoresServerSessions + ?Sized> StoresServerSessions for ContextView<S> {
    fn put(&self, key: Vec<u8>, value: Vec<u8>) -> bool {
        self.all.put(key, self.context.prepend_context(&value))
    }

    fn get(&self, key: &[u8]) -> Option<Vec<u8>> {
        self.context.strip_context(&self.all.get(key)?)
    }

    fn take(&self, key: &[u8]) -> Option<Vec<u8>> {
        self.context.strip_context(&self.all.take(key)?)
    }

    fn can_cache(&self) -> bool {
        self.all.can_cache()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resume::sessions::{ServerSessions, SessionStore};
    use crate::resume::tickets::TicketCipher;

    fn here_and_there() -> [SessionContext; 2] {
        [SessionContext::of(["one", "two"]), SessionContext::of(["onet", "wo"])]
    }

    #[test]
    fn a_ticket_is_opened_where_it_was_sealed_and_not_in_another_context() {
        let all = Arc::new(TicketCipher::rotating(300, None, None).expect("randomness"));
        let [here, same, there] = {
            let [one, other] = here_and_there();
            [one, one, other].map(|context| ContextView { context, all: Arc::clone(&all) })
        };
        let ticket = here.encrypt(b"session").expect("sealed");
        assert_eq!(same.decrypt(&ticket).as_deref(), Some(&b"session"[..]));
        assert_eq!(there.decrypt(&ticket), None);
        let unmarked = all.encrypt(b"session").expect("sealed");
        assert_eq!(here.decrypt(&unmarked), None, "of a binary that knew no contexts");
    }

    #[test]
    fn a_session_in_a_shared_cache_is_found_in_its_own_context_only() {
        let store: Arc<SessionStore> = Arc::default();
        let [here, there] = here_and_there().map(|context| {
            let all = Arc::new(ServerSessions { store: Arc::clone(&store), most: 4, lifetime_s: 60 });
            ContextView { context, all }
        });
        assert!(here.put(vec![1], b"session".to_vec()));
        assert_eq!(there.get(&[1]), None);
        assert_eq!(here.get(&[1]).as_deref(), Some(&b"session"[..]));
        assert_eq!(there.take(&[1]), None);
    }
}
