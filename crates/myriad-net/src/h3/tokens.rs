//! Tokens by which returning clients validate their addresses (RFC 9000 section 8.1.3).

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use aws_lc_rs::{hkdf, rand};
use quinn_proto::{TokenLog, TokenReuseError, ValidationTokenConfig};
use zeroize::Zeroizing;

/// Lifetime of an address validation token. Addresses of returning clients rarely change within this time.
const LIFETIME: Duration = Duration::from_hours(24);
/// Number of address validation tokens (NEW_TOKEN) sent per connection. A client uses one token per connection.
const SENT: u32 = 1;
/// Number of bits of the Bloom filter of used tokens of one lifetime (1 MB). After half a million tokens, one unused
/// token in 2,300 is treated as used, so that its client must complete the handshake first.
const BITS: u64 = 1 << 23;
/// Number of bits that each used token sets in the Bloom filter.
const MARKS: u64 = 8;
/// Number of set bits (after about 720,000 tokens) above which the Bloom filter is cleared. All tokens issued up to the
/// newest token in it then become invalid.
const FULL: u64 = BITS / 2;

/// Key of address validation tokens, and the used tokens, of one process. A new process has no record of the tokens
/// that an earlier process accepted. It therefore uses a new key and rejects all earlier tokens; clients with such a
/// token must complete the handshake first.
#[derive(Clone)]
pub struct QuicTokens {
    pub(super) key: Arc<hkdf::Prk>,
    used: Arc<UsedTokens>,
}

impl QuicTokens {
    /// Creates a token key from `secret` and random bytes, without used tokens.
    pub fn new(secret: &[u8]) -> Self {
        let mut process = Zeroizing::new([0; 32]);
        // An error is ignored: TLS fails without random numbers as well.
        let _ = rand::fill(&mut *process);
        let key = hkdf::Salt::new(hkdf::HKDF_SHA256, &*process).extract(secret);
        Self { key: Arc::new(key), used: Arc::default() }
    }

    /// Returns quinn's configuration for sending and accepting address validation tokens.
    pub(super) fn config(&self) -> ValidationTokenConfig {
        let mut config = ValidationTokenConfig::default();
        config.lifetime(LIFETIME).sent(SENT).log(Arc::clone(&self.used) as _);
        config
    }
}

/// Filter of used tokens, so that each token validates an address only once (RFC 9000 section 8.1.4). Shared by all
/// workers; its memory is allocated at the first token.
#[derive(Debug, Default)]
pub(super) struct UsedTokens {
    /// Filters of the current and the previous token lifetime, at the index of their number modulo 2.
    periods: Mutex<[Period; 2]>,
}

#[derive(Debug, Default)]
struct Period {
    /// Number of the period: its start divided by the lifetime of tokens.
    number: u64,
    bits: Vec<u64>,
    /// Number of set bits in this filter.
    set: u64,
    /// Latest time of issue of the used tokens, in seconds since the Unix epoch.
    newest: u64,
    /// Latest time of issue, in seconds since the Unix epoch, of the tokens that the filter contained when it was last
    /// cleared; tokens issued until then are invalid. 0 if it was not cleared.
    forgotten: u64,
}

impl Period {
    /// Marks a token as used. Returns true if it was marked already. The nonce is a random number of the server, so it
    /// is not hashed.
    fn mark(&mut self, nonce: u128) -> bool {
        self.bits.resize((BITS / 64) as usize, 0);
        let (first, apart) = (nonce as u64, (nonce >> 64) as u64 | 1);
        let mut known = true;
        for mark in 0..MARKS {
            let bit = first.wrapping_add(mark.wrapping_mul(apart)) % BITS;
            let word = &mut self.bits[(bit / 64) as usize];
            let is_set = *word >> (bit % 64) & 1 == 1;
            known &= is_set;
            self.set += u64::from(!is_set);
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
        let issued = issued.duration_since(UNIX_EPOCH).map_err(|_| TokenReuseError)?.as_secs();
        let number = issued / lifetime.as_secs().max(1);
        let mut periods = self.periods.lock().unwrap_or_else(PoisonError::into_inner);
        let period = &mut periods[(number % 2) as usize];
        if period.number > number {
            return Err(TokenReuseError);
        }
        if period.number < number {
            *period = Period { number, ..Period::default() };
        }
        if issued <= period.forgotten {
            return Err(TokenReuseError);
        }
        period.newest = period.newest.max(issued);
        let is_known = period.mark(nonce);
        if period.set > FULL {
            *period = Period { number, forgotten: period.newest, ..Period::default() };
        }
        if is_known { Err(TokenReuseError) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use xxhash_rust::xxh3::xxh3_64_with_seed;

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
        // After two lifetimes the first tokens are rejected.
        assert!(take(5, at(12)));
        assert!(!take(7, at(10)));
        assert!(!take(5, at(11)));
    }

    #[test]
    fn token_overflow_forgets_all_used_tokens_of_same_age() {
        let used = UsedTokens::default();
        let at = |seconds: u64| UNIX_EPOCH + LIFETIME * 10 + Duration::from_secs(seconds);
        let half = |number: u64, seed| u128::from(xxh3_64_with_seed(&number.to_le_bytes(), seed));
        let nonce = |number| half(number, 1) << 64 | half(number, 2);
        let take = |number, issued| used.check_and_insert(nonce(number), issued, LIFETIME).is_ok();
        let count = |numbers: std::ops::Range<u64>, issued| numbers.filter(|n| take(*n, issued)).count();
        assert!(count(0..700_000, at(60)) > 698_000);
        assert!(take(1_000_000, at(30)) && !take(1_000_000, at(30)));
        count(700_000..760_000, at(60));
        assert!(!take(1_000_001, at(30)) && !take(1_000_002, at(60)));
        assert!(take(1_000_003, at(61)) && !take(1_000_003, at(61)));
    }

    #[test]
    fn each_process_has_a_key_of_its_own() {
        let sealed = |tokens: &QuicTokens| {
            let key = quinn_proto::crypto::HandshakeTokenKey::aead_from_hkdf(&*tokens.key, b"nonce");
            let mut text = b"text".to_vec();
            key.seal(&mut text, b"").expect("it is sealed");
            text
        };
        let [own, next] = [(); 2].map(|()| QuicTokens::new(b"one secret"));
        assert_eq!(sealed(&own), sealed(&own.clone()));
        assert_ne!(sealed(&own), sealed(&next));
    }
}
