//! Password hashes of Unix `crypt`, and their verification.

mod des;
mod md5;

use sha_crypt::password_hash::PasswordVerifier;
use sha_crypt::{PasswordHashRef, ShaCrypt};

pub(crate) use des::matches as des;
pub(crate) use md5::matches as md5;

/// Digits of `crypt`, six bits each.
const DIGITS: &[u8; 64] = b"./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// Returns the value of a digit; `None` if the byte is not a digit.
pub(crate) fn sextet(digit: u8) -> Option<u8> {
    DIGITS.iter().position(|known| *known == digit).map(|at| at as u8)
}

/// Returns whether the password matches a stored `$5$` or `$6$` hash (Drepper, "Unix crypt using SHA-256 and SHA-512").
pub(crate) fn sha(stored: &[u8], password: &[u8]) -> bool {
    let stored = std::str::from_utf8(stored).ok().and_then(|text| PasswordHashRef::new(text).ok());
    stored.is_some_and(|stored| ShaCrypt::default().verify_password(password, stored).is_ok())
}

/// Returns whether the password matches a stored `$2a$`, `$2b$` or `$2y$` hash (Provos and Mazières, "A
/// Future-Adaptable Password Scheme").
pub(crate) fn bcrypt(stored: &[u8], password: &[u8]) -> bool {
    let stored = std::str::from_utf8(stored).ok();
    stored.is_some_and(|stored| bcrypt::verify(password, stored).unwrap_or(false))
}
