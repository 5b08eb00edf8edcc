//! Responses to authorities that validate a name, queried by the request handlers.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::RwLock;
use rustls::ServerConfig;

/// Path prefix of token requests by authorities (RFC 8555 section 8.3).
pub const PATH: &[u8] = b"/.well-known/acme-challenge/";

/// ALPN protocol of validation handshakes by authorities (RFC 8737 section 4).
pub const ALPN: &[u8] = b"acme-tls/1";

/// Pending challenges of all authorities.
#[derive(Default)]
pub struct Challenges {
    pending: AtomicUsize,
    by_token: RwLock<HashMap<String, Arc<str>>>,
    by_name: RwLock<HashMap<String, Arc<ServerConfig>>>,
}

impl Challenges {
    /// Returns whether any challenge is pending: one load, to be checked before the other methods.
    pub fn are_pending(&self) -> bool {
        self.pending.load(Ordering::Relaxed) > 0
    }

    /// Returns the response to a request for this path, without arguments, if its token is pending.
    pub fn answer(&self, path: &[u8]) -> Option<Arc<str>> {
        let token = std::str::from_utf8(path.strip_prefix(PATH)?).ok()?;
        self.by_token.read().get(token).map(Arc::clone)
    }

    /// Returns the TLS settings for a validation handshake with this name, if it is pending.
    pub fn handshake(&self, name: &str) -> Option<Arc<ServerConfig>> {
        let by_name = self.by_name.read();
        by_name.get(name).or_else(|| by_name.get(&name.to_ascii_lowercase())).map(Arc::clone)
    }

    /// Responds to a token until the returned value is dropped.
    pub(crate) fn answer_token(self: &Arc<Self>, token: &str, answer: &str) -> Pending {
        self.by_token.write().insert(token.to_owned(), answer.into());
        self.pending.fetch_add(1, Ordering::Relaxed);
        Pending { challenges: Arc::clone(self), subject: Subject::Token(token.to_owned()) }
    }

    /// Responds to handshakes for a name until the returned value is dropped.
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

/// Challenge that is responded to until this value is dropped.
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
