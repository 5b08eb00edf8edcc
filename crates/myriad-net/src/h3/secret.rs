//! What tokens, resets and connection IDs are made with.

use std::sync::Arc;

use aws_lc_rs::{hkdf, hmac};

use super::tokens::UsedTokens;

/// Keys that follow from one secret, so that whoever has the secret again has the keys: reset tokens hold over reloads and
/// after a crash, tokens of address validation in every worker.
#[derive(Clone)]
pub struct QuicSecret {
    pub(super) reset: Arc<hmac::Key>,
    pub(super) token: Arc<hkdf::Prk>,
    pub(super) names: u64,
    pub(super) used: Arc<UsedTokens>,
}

impl QuicSecret {
    /// The keys of a secret, `quic_host_key` or random bytes; it may be of any length.
    pub fn new(secret: &[u8]) -> Self {
        let extracted = hkdf::Salt::new(hkdf::HKDF_SHA256, b"myriad quic").extract(secret);
        let derived = |purpose: &[u8]| {
            let mut key = [0; 32];
            let info = [purpose];
            // A key of the length of the hash is always given.
            let _ = extracted.expand(&info, hkdf::HKDF_SHA256).and_then(|okm| okm.fill(&mut key));
            key
        };
        let names = derived(b"connection ids");
        Self {
            reset: Arc::new(hmac::Key::new(hmac::HMAC_SHA256, &derived(b"stateless resets"))),
            token: Arc::new(hkdf::Salt::new(hkdf::HKDF_SHA256, &derived(b"tokens")).extract(secret)),
            names: names.iter().take(8).fold(0, |key, byte| key << 8 | u64::from(*byte)),
            used: Arc::default(),
        }
    }

    /// The same keys, with the knowledge of `other` about tokens that were used.
    #[must_use]
    pub fn knowing_what(self, other: &Self) -> Self {
        Self { used: Arc::clone(&other.used), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_secret_gives_one_set_of_keys() {
        let [first, again, other] = [b"a", b"a", b"b"].map(|secret| QuicSecret::new(secret));
        assert_eq!(first.names, again.names);
        assert_ne!(first.names, other.names);
        let sign = |secret: &QuicSecret| hmac::sign(&secret.reset, b"x").as_ref().to_vec();
        assert_eq!(sign(&first), sign(&again));
        assert_ne!(sign(&first), sign(&other));
    }
}
