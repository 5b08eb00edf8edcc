//! What authorities are answered while a name is being proved; asked by whoever serves.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::RwLock;
use rustls::ServerConfig;

/// The path below which authorities ask for tokens (RFC 8555 section 8.3).
pub const PATH: &[u8] = b"/.well-known/acme-challenge/";

/// The protocol by which authorities ask in a handshake (RFC 8737 section 4).
pub const ALPN: &[u8] = b"acme-tls/1";

/// The challenges that are pending, of all authorities.
#[derive(Default)]
pub struct Challenges {
    pending: AtomicUsize,
    by_token: RwLock<HashMap<String, Arc<str>>>,
    by_name: RwLock<HashMap<String, Arc<ServerConfig>>>,
}

impl Challenges {
    /// Whether any challenge is pending: one load, to be asked before anything else is.
    pub fn are_pending(&self) -> bool {
        self.pending.load(Ordering::Relaxed) > 0
    }

    /// The answer to a request for this path, arguments left out, if a token is waited for there.
    pub fn answer(&self, path: &[u8]) -> Option<Arc<str>> {
        let token = std::str::from_utf8(path.strip_prefix(PATH)?).ok()?;
        self.by_token.read().get(token).map(Arc::clone)
    }

    /// How a handshake for this name answers, if it comes from an authority that is waited for.
    pub fn handshake(&self, name: &str) -> Option<Arc<ServerConfig>> {
        let by_name = self.by_name.read();
        by_name.get(name).or_else(|| by_name.get(&name.to_ascii_lowercase())).map(Arc::clone)
    }

    /// Answers a token until what is returned is dropped.
    pub(crate) fn answer_token(self: &Arc<Self>, token: &str, answer: &str) -> Pending {
        self.by_token.write().insert(token.to_owned(), answer.into());
        self.pending.fetch_add(1, Ordering::Relaxed);
        Pending { challenges: Arc::clone(self), subject: Subject::Token(token.to_owned()) }
    }

    /// Answers handshakes for a name until what is returned is dropped.
    pub(crate) fn answer_handshake(self: &Arc<Self>, name: String, config: Arc<ServerConfig>) -> Pending {
        self.by_name.write().insert(name.clone(), config);
        self.pending.fetch_add(1, Ordering::Relaxed);
        Pending { challenges: Arc::clone(self), subject: Subject::Name(name) }
    }
}

impl fmt::Debug for Challenges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Challenges").field("pending", &self.pending).finish_non_exhaustive()
    }
}

/// A challenge that is being answered; dropped, it no longer is.
#[derive(Debug)]
pub(crate) struct Pending {
    challenges: Arc<Challenges>,
    subject: Subject,
}

#[derive(Debug)]
enum Subject {
    Token(String),
    Name(String),
}

impl Drop for Pending {
    fn drop(&mut self) {
        match &self.subject {
            Subject::Token(token) => {
                self.challenges.by_token.write().remove(token);
            }
            Subject::Name(name) => {
                self.challenges.by_name.write().remove(name);
            }
        }
        self.challenges.pending.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn token_is_answered_while_it_is_pending_and_nothing_else_is() {
        let challenges = Arc::new(Challenges::default());
        assert!(!challenges.are_pending());
        let pending = challenges.answer_token("abc", "abc.thumb");
        assert!(challenges.are_pending());
        let answer = |path: &str| challenges.answer(path.as_bytes()).map(|answer| answer.to_string());
        assert_eq!(answer("/.well-known/acme-challenge/abc").as_deref(), Some("abc.thumb"));
        for path in ["/.well-known/acme-challenge/", "/.well-known/acme-challenge/abcd", "/abc", ""] {
            assert_eq!(answer(path), None, "{path}");
        }
        drop(pending);
        assert!(!challenges.are_pending());
        assert_eq!(answer("/.well-known/acme-challenge/abc"), None);
    }
}
