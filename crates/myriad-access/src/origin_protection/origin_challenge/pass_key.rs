//! Key of the signatures of passes for locations without `secret=`.

use std::sync::{Arc, LazyLock};

use aws_lc_rs::hmac;
use parking_lot::RwLock;

/// Key that signs passes. It can be replaced while signers use it, which invalidates earlier passes.
pub(super) struct PassKey(RwLock<Arc<hmac::Key>>);

impl PassKey {
    /// Creates the key for a secret, which may have any length.
    pub(super) fn new(secret: &[u8]) -> Self {
        Self(RwLock::new(Arc::new(key_of(secret))))
    }

    /// Returns the current key.
    pub(super) fn get(&self) -> Arc<hmac::Key> {
        Arc::clone(&self.0.read())
    }

    /// Replaces the key by that for another secret.
    fn set(&self, secret: &[u8]) {
        *self.0.write() = Arc::new(key_of(secret));
    }
}

fn key_of(secret: &[u8]) -> hmac::Key {
    hmac::Key::new(hmac::HMAC_SHA256, secret)
}

/// Random secret of this process. It changes at each start, which invalidates earlier passes.
static PROCESS_SECRET: LazyLock<[u8; 32]> = LazyLock::new(|| {
    let mut secret = [0; 32];
    // With a predictable secret, clients could forge signatures: the process aborts instead.
    aws_lc_rs::rand::fill(&mut secret).expect("the system provides random numbers");
    secret
});

/// Key of all locations without `secret=`.
static DEFAULT: LazyLock<Arc<PassKey>> = LazyLock::new(|| Arc::new(PassKey::new(&*PROCESS_SECRET)));

/// Returns the key of all locations without `secret=`.
pub(super) fn default_key() -> Arc<PassKey> {
    Arc::clone(&DEFAULT)
}

/// Sets the secret that signs the passes of all locations without `secret=`: one that the nodes of a cluster share, so that
/// a pass of one node is valid on the others and after a restart. `None` selects a random secret of this process.
pub fn share_pass_secret(secret: Option<&[u8]>) {
    DEFAULT.set(secret.unwrap_or(&*PROCESS_SECRET));
}
