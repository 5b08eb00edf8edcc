//! MD5-crypt: `$1$` of FreeBSD (Kamp) and `$apr1$` of Apache, which differ only in the prefix.

use md5::{Digest, Md5};
use subtle::ConstantTimeEq;

use super::DIGITS;

/// Maximum number of significant bytes of an MD5-crypt salt.
const SALT: usize = 8;
const ROUNDS: usize = 1000;
/// Order of the digest bytes in the output: three bytes form four digits. The byte [`LAST`] forms the final two.
const ORDER: [[usize; 3]; 5] = [[0, 6, 12], [1, 7, 13], [2, 8, 14], [3, 9, 15], [4, 10, 5]];
const LAST: usize = 11;

/// Returns whether the password matches a stored `$1$SALT$HASH` or `$apr1$SALT$HASH`.
pub(crate) fn matches(stored: &[u8], password: &[u8]) -> bool {
    let Some(end) = stored.iter().skip(1).position(|byte| *byte == b'$') else { return false };
    let (magic, rest) = stored.split_at(end + 2);
    let Some(end) = rest.iter().position(|byte| *byte == b'$') else { return false };
    let (salt, hash) = (&rest[..end.min(SALT)], &rest[end + 1..]);
    digits(&digest(magic, salt, password)).as_slice().ct_eq(hash).into()
}

fn digest(magic: &[u8], salt: &[u8], password: &[u8]) -> [u8; 16] {
    let inner = Md5::new().chain_update(password).chain_update(salt).chain_update(password).finalize();
    let mut context = Md5::new().chain_update(password).chain_update(magic).chain_update(salt);
    for part in password.chunks(16) {
        context.update(&inner[..part.len()]);
    }
    let mut bits = password.len();
    while bits > 0 {
        // The original implementation intended a byte of the digest here, but had cleared it before.
        context.update(if bits & 1 == 1 { &[0] } else { &password[..1] });
        bits >>= 1;
    }
    let mut digest: [u8; 16] = context.finalize().into();
    for round in 0..ROUNDS {
        let odd = round & 1 == 1;
        let mut context = Md5::new();
        context.update(if odd { password } else { &digest });
        if round % 3 != 0 {
            context.update(salt);
        }
        if round % 7 != 0 {
            context.update(password);
        }
        context.update(if odd { &digest[..] } else { password });
        digest = context.finalize().into();
    }
    digest
}

fn digits(digest: &[u8; 16]) -> Vec<u8> {
    let mut out = Vec::with_capacity(22);
    let mut write = |mut bits: u32, count: usize| {
        for _ in 0..count {
            out.push(DIGITS[(bits & 63) as usize]);
            bits >>= 6;
        }
    };
    for [a, b, c] in ORDER {
        write(u32::from(digest[a]) << 16 | u32::from(digest[b]) << 8 | u32::from(digest[c]), 4);
    }
    write(u32::from(digest[LAST]), 2);
    out
}
