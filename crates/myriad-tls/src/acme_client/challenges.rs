//! Pending challenges: responses to the requests by which authorities validate names.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::{Mutex, RwLock};
use rustls::ServerConfig;

use crate::acme_client::issuer::{CertificateOrder, server_name};

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
    /// Names that orders of this process validate by handshakes (`tls-alpn-01`), each by one order at a time.
    reserved: Mutex<HashSet<String>>,
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

    /// Returns the TLS settings for a validation handshake with a server name, ignoring case; `None` if no challenge is
    /// pending for the name.
    pub fn handshake_config(&self, name: &str) -> Option<Arc<ServerConfig>> {
        let by_name = self.by_name.read();
        by_name.get(name).or_else(|| by_name.get(&name.to_ascii_lowercase())).map(Arc::clone)
    }

    /// Adds an `http-01` challenge: requests for `token` get `answer` until the returned guard is dropped, or another
    /// challenge with the token is added.
    pub(crate) fn add_token(self: &Arc<Self>, token: &str, answer: &str) -> ChallengeGuard {
        let answer: Arc<str> = answer.into();
        self.by_token.write().insert(token.to_owned(), Arc::clone(&answer));
        self.guard(ChallengeSubject::Token(token.to_owned(), answer))
    }

    /// Adds a `tls-alpn-01` challenge: handshakes for `name` use `config` until the returned guard is dropped, or another
    /// challenge for the name is added.
    pub(crate) fn add_handshake(self: &Arc<Self>, name: String, config: Arc<ServerConfig>) -> ChallengeGuard {
        self.by_name.write().insert(name.clone(), Arc::clone(&config));
        self.guard(ChallengeSubject::Name(name, config))
    }

    fn guard(self: &Arc<Self>, subject: ChallengeSubject) -> ChallengeGuard {
        self.pending.fetch_add(1, Ordering::Relaxed);
        ChallengeGuard { challenges: Arc::clone(self), subject }
    }

    /// Reserves the names of an order for `tls-alpn-01`, because a name has one challenge at a time, until the returned
    /// reservation is dropped. `None` if another order of this process has reserved one of them.
    pub(crate) fn reserve(self: &Arc<Self>, order: &CertificateOrder) -> Option<NameReservation> {
        let names: Vec<_> =
            order.identifiers.iter().map(|name| server_name(name).to_ascii_lowercase()).collect();
        let mut reserved = self.reserved.lock();
        if names.iter().any(|name| reserved.contains(name)) {
            return None;
        }
        reserved.extend(names.iter().cloned());
        Some(NameReservation { challenges: Arc::clone(self), names })
    }
}

impl fmt::Debug for PendingChallenges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PendingChallenges").field("pending", &self.pending).finish_non_exhaustive()
    }
}

/// Guard of a pending ACME challenge. Dropping it removes the challenge, unless another one has replaced it.
#[derive(Debug)]
pub struct ChallengeGuard {
    challenges: Arc<PendingChallenges>,
    subject: ChallengeSubject,
}

/// Token or name of a challenge, and the answer that was added for it.
#[derive(Debug)]
enum ChallengeSubject {
    Token(String, Arc<str>),
    Name(String, Arc<ServerConfig>),
}

/// Names of an order that no other order of this process validates by handshakes. Dropping it releases the names.
#[derive(Debug)]
pub(crate) struct NameReservation {
    challenges: Arc<PendingChallenges>,
    names: Vec<String>,
}

impl Drop for NameReservation {
    fn drop(&mut self) {
        let mut reserved = self.challenges.reserved.lock();
        for name in &self.names {
            reserved.remove(name);
        }
    }
}

impl Drop for ChallengeGuard {
    fn drop(&mut self) {
        // A later challenge for the same token or name stays.
        match &self.subject {
            ChallengeSubject::Token(token, answer) => {
                let mut by_token = self.challenges.by_token.write();
                if by_token.get(token).is_some_and(|current| Arc::ptr_eq(current, answer)) {
                    by_token.remove(token);
                }
            }
            ChallengeSubject::Name(name, config) => {
                let mut by_name = self.challenges.by_name.write();
                if by_name.get(name).is_some_and(|current| Arc::ptr_eq(current, config)) {
                    by_name.remove(name);
                }
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

    #[test]
    fn guard_of_an_earlier_challenge_does_not_remove_a_later_one() {
        use crate::acme_client::challenge_answer::answer_challenge;
        use crate::acme_client::coordination::SharedChallenge;
        use myriad_conf::model::{AcmeChallenge, AcmeIdentifier};

        let challenges = Arc::new(PendingChallenges::default());
        let add = |kind, answer: &str| {
            let identifier = AcmeIdentifier::Dns("a.test".to_owned());
            let challenge =
                SharedChallenge { kind, token: "abc".to_owned(), identifier, answer: answer.to_owned() };
            answer_challenge(&challenges, &challenge, 1_795_246_560).expect("a challenge")
        };
        let earlier = [AcmeChallenge::TlsAlpn01, AcmeChallenge::Http01].map(|kind| add(kind, "abc.first"));
        let later = [AcmeChallenge::TlsAlpn01, AcmeChallenge::Http01].map(|kind| add(kind, "abc.second"));
        let config = challenges.handshake_config("a.test").expect("a challenge");
        drop(earlier);
        let current = challenges.handshake_config("a.test").expect("the later challenge");
        assert!(Arc::ptr_eq(&config, &current));
        let answer = challenges.http_response(b"/.well-known/acme-challenge/abc");
        assert_eq!(answer.as_deref(), Some("abc.second"));
        drop(later);
        assert!(challenges.handshake_config("a.test").is_none() && !challenges.are_pending());
        assert!(challenges.http_response(b"/.well-known/acme-challenge/abc").is_none());
    }

    #[test]
    fn name_is_reserved_by_one_order_at_a_time() {
        use myriad_conf::model::{AcmeIdentifier, AcmeKeyKind};

        let challenges = Arc::new(PendingChallenges::default());
        let order = |names: &[&str]| CertificateOrder {
            identifiers: names.iter().map(|name| AcmeIdentifier::Dns((*name).to_owned())).collect(),
            key: AcmeKeyKind::P256,
        };
        let first = challenges.reserve(&order(&["a.test", "b.test"])).expect("no other order");
        assert!(challenges.reserve(&order(&["c.test", "B.test"])).is_none());
        let second =
            challenges.reserve(&order(&["c.test"])).expect("nothing is reserved by a failed attempt");
        drop(first);
        assert!(challenges.reserve(&order(&["b.test"])).is_some());
        drop(second);
    }
}
