//! Pending challenges: responses to the requests by which authorities validate names.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::RwLock;
use rustls::ServerConfig;

/// Path prefix of the HTTP requests by which an ACME authority validates a domain (`http-01`, RFC 8555 section 8.3).
pub const PATH: &[u8] = b"/.well-known/acme-challenge/";

/// ALPN protocol of the handshakes by which an ACME authority validates a domain (`tls-alpn-01`, RFC 8737 section 4).
pub const ALPN: &[u8] = b"acme-tls/1";

/// Pending ACME challenges of all issuers, which the server answers.
#[derive(Default)]
pub struct PendingChallenges {
    pending: AtomicUsize,
    by_token: RwLock<HashMap<String, Arc<str>>>,
    by_name: RwLock<HashMap<String, Arc<ServerConfig>>>,
}

impl PendingChallenges {
    /// Returns true if any challenge is pending. Costs one atomic load; to be checked before the other methods.
    pub fn are_pending(&self) -> bool {
        self.pending.load(Ordering::Relaxed) > 0
    }

    /// Returns the response to a request for `path` (without query string); `None` if no challenge with its token is
    /// pending.
    pub fn http_response(&self, path: &[u8]) -> Option<Arc<str>> {
        let token = std::str::from_utf8(path.strip_prefix(PATH)?).ok()?;
        self.by_token.read().get(token).map(Arc::clone)
    }

    /// Returns the TLS settings for a validation handshake with a server name; `None` if no challenge is pending for
    /// it.
    pub fn handshake_config(&self, name: &str) -> Option<Arc<ServerConfig>> {
        let by_name = self.by_name.read();
        by_name.get(name).or_else(|| by_name.get(&name.to_ascii_lowercase())).map(Arc::clone)
    }

    /// Adds an `http-01` challenge: requests for `token` get `answer` until the returned guard is dropped.
    pub(crate) fn add_token(self: &Arc<Self>, token: &str, answer: &str) -> ChallengeGuard {
        self.by_token.write().insert(token.to_owned(), answer.into());
        self.pending.fetch_add(1, Ordering::Relaxed);
        ChallengeGuard { challenges: Arc::clone(self), subject: ChallengeSubject::Token(token.to_owned()) }
    }

    /// Adds a `tls-alpn-01` challenge: handshakes for `name` use `config` until the returned guard is dropped.
    pub(crate) fn add_handshake(self: &Arc<Self>, name: String, config: Arc<ServerConfig>) -> ChallengeGuard {
        self.by_name.write().insert(name.clone(), config);
        self.pending.fetch_add(1, Ordering::Relaxed);
        ChallengeGuard { challenges: Arc::clone(self), subject: ChallengeSubject::Name(name) }
    }
}

impl fmt::Debug for PendingChallenges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PendingChallenges").field("pending", &self.pending).finish_non_exhaustive()
    }
}

/// Guard of a pending ACME challenge. Dropping it removes the challenge.
#[derive(Debug)]
pub struct ChallengeGuard {
    challenges: Arc<PendingChallenges>,
    subject: ChallengeSubject,
}

#[derive(Debug)]
enum ChallengeSubject {
    Token(String),
    Name(String),
}

impl Drop for ChallengeGuard {
    fn drop(&mut self) {
        match &self.subject {
            ChallengeSubject::Token(token) => {
                self.challenges.by_token.write().remove(token);
            }
            ChallengeSubject::Name(name) => {
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
        let challenges = Arc::new(PendingChallenges::default());
        assert!(!challenges.are_pending());
        let pending = challenges.add_token("abc", "abc.thumb");
        assert!(challenges.are_pending());
        let answer = |path: &str| challenges.http_response(path.as_bytes()).map(|answer| answer.to_string());
        assert_eq!(answer("/.well-known/acme-challenge/abc").as_deref(), Some("abc.thumb"));
        for path in ["/.well-known/acme-challenge/", "/.well-known/acme-challenge/abcd", "/abc", ""] {
            assert_eq!(answer(path), None, "{path}");
        }
        drop(pending);
        assert!(!challenges.are_pending());
        assert_eq!(answer("/.well-known/acme-challenge/abc"), None);
    }
}
