//! Tokens with which clients that come again show at once that they are where they say (RFC 9000 section 8.1.3).

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use quinn_proto::{TokenLog, TokenReuseError, ValidationTokenConfig};

/// How long a token holds: about as long as a visitor who comes again has the same address.
const LIFETIME: Duration = Duration::from_hours(24);
/// Tokens that a client gets: it uses one for each connection, and each connection gives it another.
const SENT: u32 = 1;
/// Bits that tell used tokens of one lifetime from others, a megabyte: with half a million of them one token in 2,500 is
/// taken for a used one, and its client waits for its handshake.
const BITS: u64 = 1 << 23;
/// Bits that each token sets.
const MARKS: u64 = 8;

/// Which tokens have been used (RFC 9000 section 8.1.4): each shows an address once. All workers share it; it holds no
/// memory before the first.
#[derive(Debug, Default)]
pub(super) struct UsedTokens {
    /// Of the tokens that were made in this lifetime and in the one before, by its number modulo two.
    periods: Mutex<[Period; 2]>,
}

#[derive(Debug, Default)]
struct Period {
    number: u64,
    bits: Vec<u64>,
}

impl Period {
    /// Whether a token was there already; it is from now on. The number of a token was drawn by the server, so it needs no hash.
    fn mark(&mut self, nonce: u128) -> bool {
        self.bits.resize((BITS / 64) as usize, 0);
        let (first, apart) = (nonce as u64, (nonce >> 64) as u64 | 1);
        let mut known = true;
        for mark in 0..MARKS {
            let bit = first.wrapping_add(mark.wrapping_mul(apart)) % BITS;
            let word = &mut self.bits[(bit / 64) as usize];
            known &= *word >> (bit % 64) & 1 == 1;
            *word |= 1 << (bit % 64);
        }
        known
    }
}

impl TokenLog for UsedTokens {
    fn check_and_insert(
        &self,
        nonce: u128,
        issued: SystemTime,
        lifetime: Duration,
    ) -> Result<(), TokenReuseError> {
        let issued = issued.duration_since(UNIX_EPOCH).map_err(|_| TokenReuseError)?;
        let number = issued.as_secs() / lifetime.as_secs().max(1);
        let mut periods = self.periods.lock().unwrap_or_else(PoisonError::into_inner);
        let period = &mut periods[(number % 2) as usize];
        if period.number > number {
            return Err(TokenReuseError);
        }
        if period.number < number {
            *period = Period { number, bits: Vec::new() };
        }
        if period.mark(nonce) { Err(TokenReuseError) } else { Ok(()) }
    }
}

/// The tokens of a listener in quinn's words.
pub(super) fn config(used: &Arc<UsedTokens>) -> ValidationTokenConfig {
    let mut config = ValidationTokenConfig::default();
    config.lifetime(LIFETIME).sent(SENT).log(Arc::clone(used) as _);
    config
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_shows_an_address_once_as_long_as_it_holds() {
        let used = UsedTokens::default();
        let at = |lifetimes: u32| UNIX_EPOCH + LIFETIME * lifetimes;
        let take = |nonce: u128, issued| used.check_and_insert(nonce, issued, LIFETIME).is_ok();
        let numbers =
            |seed: u128| (1..2000_u128).map(move |n| n.wrapping_mul(seed << 64 | 0x9e37_79b9_7f4a_7c15));
        assert_eq!(numbers(77).filter(|nonce| take(*nonce, at(10))).count(), 1999);
        assert_eq!(numbers(77).filter(|nonce| take(*nonce, at(10))).count(), 0);
        assert!(take(5, at(11)) && !take(5, at(11)) && take(6, at(10)));
        // Two lifetimes later nobody can use the first ones any more.
        assert!(take(5, at(12)));
        assert!(!take(7, at(10)));
        assert!(!take(5, at(11)));
    }
}
