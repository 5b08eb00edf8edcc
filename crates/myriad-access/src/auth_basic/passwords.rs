//! Verification of slow password hashes on blocking threads.
//!
//! A hash is slow by design, and any client may send a password. The number of concurrent computations is therefore
//! limited to half of the processors, and the number of waiting attempts to [`WAITING`]. A password that was verified
//! recently is accepted without a computation.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use crate::password::{PasswordMatch, StoredPassword, VerificationCache};
use parking_lot::Mutex;
use tokio::sync::Semaphore;
use zeroize::Zeroizing;

/// Maximum number of password verifications that wait for a thread; further requests are rejected.
const WAITING: usize = 128;

/// Verifier of slow password hashes, shared by all workers.
pub(crate) struct PasswordVerifier {
    recently_verified: Mutex<VerificationCache>,
    permits: Arc<Semaphore>,
    waiting: AtomicUsize,
}

/// Error: the password was not verified, because too many verifications are waiting or the thread failed.
pub(super) struct TooManyAttempts;

impl Default for PasswordVerifier {
    fn default() -> Self {
        let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Self {
            recently_verified: Mutex::new(VerificationCache::new(random_key())),
            permits: Arc::new(Semaphore::new((processors / 2).max(1))),
            waiting: AtomicUsize::new(0),
        }
    }
}

impl PasswordVerifier {
    /// Returns whether the password was recently verified against the stored hash. `now` is in milliseconds.
    pub(super) fn is_recently_verified(&self, stored: &[u8], password: &[u8], now: u64) -> bool {
        self.recently_verified.lock().contains(stored, password, now)
    }

    /// Verifies the password on a blocking thread, once fewer than the maximum number of computations run. A match is
    /// cached. Returns an error if too many verifications are waiting, or if the thread fails. `now` is in
    /// milliseconds.
    pub(super) async fn judge(
        &self,
        stored: Vec<u8>,
        password: Zeroizing<Vec<u8>>,
        now: u64,
    ) -> Result<PasswordMatch, TooManyAttempts> {
        let permit = {
            let _place = self.enter_queue().ok_or(TooManyAttempts)?;
            Arc::clone(&self.permits).acquire_owned().await.map_err(|_| TooManyAttempts)?
        };
        let compared = tokio::task::spawn_blocking(move || {
            // The slot is released when the computation finishes, even if the client disconnects earlier.
            let _permit = permit;
            (StoredPassword::new(&stored).verify(&password), stored, password)
        });
        let (judgement, stored, password) = compared.await.map_err(|_| TooManyAttempts)?;
        if judgement == PasswordMatch::Match {
            self.recently_verified.lock().insert(&stored, &password, now);
        }
        Ok(judgement)
    }

    fn enter_queue(&self) -> Option<QueuePosition<'_>> {
        let place = QueuePosition(&self.waiting);
        (self.waiting.fetch_add(1, Relaxed) < WAITING).then_some(place)
    }
}

/// Position of a password verification in the queue; dropped when it begins or the client disconnects.
struct QueuePosition<'a>(&'a AtomicUsize);

impl Drop for QueuePosition<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

/// Returns a random key for the digests in the verification cache, derived from the random state of the standard
/// library's hash tables.
fn random_key() -> [u8; 32] {
    let mut key = [0; 32];
    for (index, part) in key.chunks_mut(8).enumerate() {
        part.copy_from_slice(&RandomState::new().hash_one(index).to_le_bytes());
    }
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queue_is_bounded_and_places_come_back() {
        let passwords = PasswordVerifier::default();
        let places: Vec<_> = (0..WAITING).map(|_| passwords.enter_queue().expect("room")).collect();
        assert!(passwords.enter_queue().is_none());
        drop(places);
        assert!(passwords.enter_queue().is_some());
    }

    #[test]
    fn attempt_beyond_the_queue_is_turned_away_at_once() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let passwords = PasswordVerifier::default();
        let places: Vec<_> = (0..WAITING).map(|_| passwords.enter_queue().expect("room")).collect();
        let judge = || runtime.block_on(passwords.judge(b"x".to_vec(), b"x".to_vec().into(), 1_000));
        assert!(judge().is_err());
        drop(places);
        assert!(judge().is_ok());
    }

    #[test]
    fn right_password_is_remembered_and_a_wrong_one_is_not() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let passwords = PasswordVerifier::default();
        let stored = b"$1$salt$qJH7.N4xYta3aEG/dfqo/0";
        let judge = |password: &[u8]| {
            let judged = runtime.block_on(passwords.judge(stored.to_vec(), password.to_vec().into(), 1_000));
            judged.ok().unwrap()
        };
        assert_eq!(judge(b"wrong"), PasswordMatch::Mismatch);
        assert!(!passwords.is_recently_verified(stored, b"wrong", 1_000));
        assert_eq!(judge(b"password"), PasswordMatch::Match);
        assert!(passwords.is_recently_verified(stored, b"password", 1_000));
    }
}
