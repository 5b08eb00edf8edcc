//! Stored passwords of all formats, and their verification.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha1::{Digest, Sha1};
use subtle::ConstantTimeEq;

use crate::password::crypt;

/// Maximum length of a password that is hashed by `crypt`, in bytes (libxcrypt's `CRYPT_MAX_PASSPHRASE_SIZE`). The cost
/// of slow hashes grows with the length, which the client controls.
const LONGEST: usize = 512;
/// Size of a SHA-1 digest, in bytes; in `{SSHA}` the salt follows it.
const SHA1: usize = 20;

/// Result of the verification of a password.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PasswordMatch {
    /// The password matches.
    Match,
    /// The password does not match.
    Mismatch,
    /// The stored password has an unsupported format (such as `$y$` or `$argon2id$`), which no password matches.
    Unknown,
}

/// Stored password, by format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoredPassword<'a> {
    /// `{PLAIN}`: the password itself, without the prefix.
    Plain(&'a [u8]),
    /// `{SHA}`: SHA-1 in base64, without the prefix.
    Sha(&'a [u8]),
    /// `{SSHA}`: base64 of the SHA-1 digest of password and salt, followed by the salt, without the prefix.
    SaltedSha(&'a [u8]),
    /// `$apr1$` (Apache) or `$1$`: MD5-crypt.
    Md5Crypt(&'a [u8]),
    /// `$5$` or `$6$`: SHA-crypt.
    ShaCrypt(&'a [u8]),
    /// `$2y$`, `$2a$`, `$2b$`: bcrypt.
    Bcrypt(&'a [u8]),
    /// Traditional Unix `crypt`: thirteen characters.
    DesCrypt(&'a [u8]),
    /// Unsupported format, which no password matches.
    Unknown,
}

impl<'a> StoredPassword<'a> {
    /// Determines the format of a stored password by its prefix; thirteen digits of `crypt` without a prefix are a
    /// DES hash. Any other text is `Unknown`.
    pub fn new(text: &'a [u8]) -> Self {
        if let Some(plain) = text.strip_prefix(b"{PLAIN}") {
            return Self::Plain(plain);
        }
        if let Some(hash) = text.strip_prefix(b"{SHA}") {
            return Self::Sha(hash);
        }
        if let Some(hash) = text.strip_prefix(b"{SSHA}") {
            return Self::SaltedSha(hash);
        }
        match text {
            [b'$', b'a', b'p', b'r', b'1', b'$', ..] | [b'$', b'1', b'$', ..] => Self::Md5Crypt(text),
            [b'$', b'5' | b'6', b'$', ..] => Self::ShaCrypt(text),
            [b'$', b'2', b'a' | b'b' | b'y', b'$', ..] => Self::Bcrypt(text),
            _ if text.len() == 13 && text.iter().all(|byte| crypt::sextet(*byte).is_some()) => {
                Self::DesCrypt(text)
            }
            _ => Self::Unknown,
        }
    }

    /// Returns whether the verification is too slow for a worker thread: MD5-crypt takes a tenth of a millisecond, the
    /// cost of bcrypt and SHA-crypt is set in the file.
    pub fn is_slow(&self) -> bool {
        matches!(self, Self::Md5Crypt(_) | Self::ShaCrypt(_) | Self::Bcrypt(_))
    }

    /// Verifies a password. Hashes are compared in constant time. A `crypt` hash never matches a password with a NUL
    /// byte or with more than 512 bytes.
    pub fn verify(&self, password: &[u8]) -> PasswordMatch {
        let hashed =
            matches!(self, Self::Md5Crypt(_) | Self::ShaCrypt(_) | Self::Bcrypt(_) | Self::DesCrypt(_));
        if hashed && (password.len() > LONGEST || password.contains(&0)) {
            return PasswordMatch::Mismatch;
        }
        let matches = match *self {
            Self::Plain(stored) => stored.ct_eq(password).into(),
            Self::Sha(stored) => STANDARD.encode(Sha1::digest(password)).as_bytes().ct_eq(stored).into(),
            Self::SaltedSha(stored) => salted_sha(stored, password),
            Self::Md5Crypt(stored) => crypt::md5(stored, password),
            Self::ShaCrypt(stored) => crypt::sha(stored, password),
            Self::Bcrypt(stored) => crypt::bcrypt(stored, password),
            Self::DesCrypt(stored) => crypt::des(stored, password),
            Self::Unknown => return PasswordMatch::Unknown,
        };
        if matches { PasswordMatch::Match } else { PasswordMatch::Mismatch }
    }
}

fn salted_sha(stored: &[u8], password: &[u8]) -> bool {
    let Ok(bytes) = STANDARD.decode(stored) else { return false };
    let Some((digest, salt)) = bytes.split_at_checked(SHA1) else { return false };
    Sha1::new().chain_update(password).chain_update(salt).finalize().ct_eq(digest).into()
}

#[cfg(test)]
mod tests;
