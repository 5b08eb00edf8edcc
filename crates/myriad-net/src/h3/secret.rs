//! Keys of stateless resets and connection IDs of a QUIC listener.

use std::sync::Arc;

use aws_lc_rs::{hkdf, hmac};
use zeroize::Zeroizing;

/// Keys of a QUIC listener for stateless resets and connection IDs, derived from a secret. The same secret and listener
/// name give the same keys, so that each worker can decode the connection IDs of all workers. Resets remain valid after
/// a restart if the secret is the same.
#[derive(Clone)]
pub struct QuicSecret {
    pub(super) reset: Arc<hmac::Key>,
    /// Key by which the worker and process in connection IDs are masked and authenticated.
    pub(super) names: u64,
}

impl QuicSecret {
    /// Derives the keys from a secret of any length: `quic_host_key`, or random bytes. The name of the listener is part
    /// of the derivation: if a listener recognized the IDs of another, it would send the reset tokens of that
    /// listener's connections (RFC 9000 section 21.11).
    pub fn new(secret: &[u8], listener: &str) -> Self {
        let extracted = hkdf::Salt::new(hkdf::HKDF_SHA256, b"myriad quic").extract(secret);
        let derived = |purpose: &[u8]| {
            let mut key = Zeroizing::new([0; 32]);
            let info = [purpose, b" of ", listener.as_bytes()];
            // The key has the length of the hash, so the expansion cannot fail.
            let _ = extracted.expand(&info, hkdf::HKDF_SHA256).and_then(|okm| okm.fill(&mut *key));
            key
        };
        let names = derived(b"connection ids");
        Self {
            reset: Arc::new(hmac::Key::new(hmac::HMAC_SHA256, &*derived(b"stateless resets"))),
            names: names.iter().take(8).fold(0, |key, byte| key << 8 | u64::from(*byte)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_listener_has_keys_of_its_own_by_one_secret() {
        let keys = |secret: &[u8], listener: &str| {
            let keys = QuicSecret::new(secret, listener);
            (keys.names, hmac::sign(&keys.reset, b"x").as_ref().to_vec())
        };
        let first = keys(b"a", "quic:0.0.0.0:443");
        assert_eq!(first, keys(b"a", "quic:0.0.0.0:443"));
        for (secret, listener) in
            [(b"b", "quic:0.0.0.0:443"), (b"a", "quic:[::]:443"), (b"a", "quic:0.0.0.0:444")]
        {
            let other = keys(secret, listener);
            assert!(first.0 != other.0 && first.1 != other.1, "{listener}");
        }
    }
}
