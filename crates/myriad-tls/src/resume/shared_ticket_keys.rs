//! Ticket keys that the nodes of a cluster share, so that a session is resumed by any node.
//!
//! Time is divided into periods, which have numbers. The key of a period encrypts during this period, and decrypts
//! during the next one, too. All nodes read it one period in advance; the first key of a cluster, some seconds.
//!
//! ```text
//! period        n - 1       n         n + 1
//! key n      is exchanged | encrypts |
//!            decrypts --------------------->|
//! ```

use parking_lot::Mutex;

use super::ticket_key::{KEY, KeyBytes, NAME, SerializedTicketKey, random};

/// Minimum length in seconds of a period, in which one key encrypts tickets. If the lifetime of tickets is longer, a
/// period is as long as it.
const MIN_PERIOD_S: u64 = 60;
/// Time in seconds after the creation of a key from which it may encrypt tickets: all nodes have read it by then.
pub(super) const SPREAD_S: u64 = 5;
/// Maximum number of keys in a set. Usually there are three: for the previous, the current and the next period. After
/// Valkey has lost data, nodes may have created more than one key for a period.
const MOST_KEYS: usize = 12;

/// Set of the keys that the nodes of a cluster share for session tickets with one lifetime.
pub struct SharedTicketKeys {
    lifetime_s: u32,
    /// Keys by the period in which they encrypt, oldest first.
    keys: Mutex<Vec<PeriodKey>>,
}

struct PeriodKey {
    period: u64,
    /// Time from which the key may encrypt, in seconds since the Unix epoch.
    usable_from_s: u64,
    made_s: u64,
    key: SerializedTicketKey,
}

/// Ticket key in the form in which the nodes of a cluster exchange it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExchangedTicketKey {
    /// Time at which the key was created, in seconds since the Unix epoch.
    pub made_s: u64,
    /// Name of the key (16 bytes) and its secret (32 bytes).
    pub bytes: KeyBytes,
}

impl SharedTicketKeys {
    /// Creates a set without keys for tickets with this lifetime in seconds; 0 counts as 1.
    pub fn new(lifetime_s: u32) -> Self {
        Self { lifetime_s: lifetime_s.max(1), keys: Mutex::default() }
    }

    /// Returns the lifetime of the tickets in seconds.
    pub fn lifetime_s(&self) -> u32 {
        self.lifetime_s
    }

    fn period_s(&self) -> u64 {
        u64::from(self.lifetime_s).max(MIN_PERIOD_S)
    }

    fn period(&self, now_s: u64) -> u64 {
        now_s / self.period_s()
    }

    /// Returns the numbers of the current and of the next period at `now_s` (seconds since the Unix epoch), whose keys
    /// a node needs.
    pub fn needed_periods(&self, now_s: u64) -> [u64; 2] {
        let period = self.period(now_s);
        [period, period.saturating_add(1)]
    }

    /// Returns the time until the key of a period decrypts no more, in milliseconds; 1 if that time has passed.
    pub fn remaining_ms(&self, period: u64, now_s: u64) -> u64 {
        let end_s = period.saturating_add(2).saturating_mul(self.period_s());
        end_s.saturating_sub(now_s).saturating_mul(1000).max(1)
    }

    /// Returns the key that this node uses for a period, the newest if it has several; `None` if it has none.
    pub fn known(&self, period: u64) -> Option<ExchangedTicketKey> {
        let keys = self.keys.lock();
        let known = keys.iter().rev().find(|known| known.period == period)?;
        Some(ExchangedTicketKey { made_s: known.made_s, bytes: known.key.bytes.clone() })
    }

    /// Returns the key that this node uses for a period, or a new random key, which is not added to the set; `None` if
    /// random numbers are not available.
    pub fn proposal(&self, period: u64, now_s: u64) -> Option<ExchangedTicketKey> {
        self.known(period).or_else(|| Some(ExchangedTicketKey { made_s: now_s, bytes: random()? }))
    }

    /// Adds a key on which the nodes have agreed for `period`. From now on it decrypts; it encrypts in this period,
    /// once all nodes have had time to read it. Returns false, without effect, if the key is malformed or the period is
    /// neither the current nor the next.
    pub fn insert(&self, period: u64, exchanged: &ExchangedTicketKey, now_s: u64) -> bool {
        let ExchangedTicketKey { made_s, bytes } = exchanged;
        if bytes.len() != KEY || !self.needed_periods(now_s).contains(&period) {
            return false;
        }
        let mut keys = self.keys.lock();
        self.drop_expired(&mut keys, now_s);
        let is_newest = |known: &&PeriodKey| known.period == period;
        if keys.iter().rev().find(is_newest).is_some_and(|known| *known.key.bytes == **bytes) {
            return true;
        }
        let Some(key) = SerializedTicketKey::read(bytes) else { return false };
        keys.retain(|known| known.period != period || *known.key.bytes != **bytes);
        // The clocks of nodes may differ: a key with a creation time in the future is usable after the same time.
        let usable_from_s = made_s.saturating_add(SPREAD_S).min(now_s.saturating_add(SPREAD_S));
        keys.push(PeriodKey { period, usable_from_s, made_s: *made_s, key });
        keys.sort_by_key(|known| known.period);
        let excess = keys.len().saturating_sub(MOST_KEYS);
        keys.drain(..excess);
        true
    }

    /// Removes all keys. Tickets of these keys are not accepted any more.
    pub fn clear(&self) {
        self.keys.lock().clear();
    }

    /// Returns true if a shared key may encrypt at `now_s` (seconds since the Unix epoch).
    pub fn is_active(&self, now_s: u64) -> bool {
        self.keys.lock().iter().any(|known| self.encrypts(known, now_s))
    }

    /// Encrypts a session at `now_s` (seconds since the Unix epoch) with the newest key of the current period; `None`
    /// if no shared key may encrypt at this time, or the encryption fails.
    pub(super) fn seal(&self, session: &[u8], now_s: u64) -> Option<Vec<u8>> {
        let mut keys = self.keys.lock();
        self.drop_expired(&mut keys, now_s);
        keys.iter().rev().find(|known| self.encrypts(known, now_s))?.key.key.seal(session, now_s)
    }

    /// Decrypts a ticket whose key has this name. Returns its time of encryption in seconds since the Unix epoch, and
    /// the session; `None` if no shared key with the name decrypts at `now_s`, or the ticket is invalid.
    pub(super) fn open(&self, name: &[u8; NAME], ticket: &[u8], now_s: u64) -> Option<(u64, Vec<u8>)> {
        let keys = self.keys.lock();
        let known = keys.iter().find(|known| known.key.key.name == *name && self.decrypts(known, now_s))?;
        known.key.key.open(ticket)
    }

    fn encrypts(&self, known: &PeriodKey, now_s: u64) -> bool {
        known.period == self.period(now_s) && known.usable_from_s <= now_s
    }

    fn decrypts(&self, known: &PeriodKey, now_s: u64) -> bool {
        let period = self.period(now_s);
        // Another node's clock may be ahead.
        known.period.saturating_add(1) >= period && known.period <= period.saturating_add(1)
    }

    /// Removes keys that do not decrypt at `now_s`: those of earlier periods, and those of later periods if the clock
    /// was set back.
    fn drop_expired(&self, keys: &mut Vec<PeriodKey>, now_s: u64) {
        keys.retain(|known| self.decrypts(known, now_s));
    }
}

impl std::fmt::Debug for SharedTicketKeys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SharedTicketKeys").field("lifetime_s", &self.lifetime_s).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Start of a period of 300 seconds.
    const START: u64 = 300_000;

    fn exchange(nodes: &[&SharedTicketKeys], now_s: u64) {
        for period in nodes[0].needed_periods(now_s) {
            let agreed = nodes[0].proposal(period, now_s).expect("randomness");
            for node in nodes {
                assert!(node.insert(period, &agreed, now_s));
            }
        }
    }

    fn opened(keys: &SharedTicketKeys, ticket: &[u8], now_s: u64) -> Option<Vec<u8>> {
        let name = ticket.first_chunk().expect("a name");
        keys.open(name, ticket, now_s).map(|(_, session)| session)
    }

    #[test]
    fn new_key_decrypts_before_it_encrypts() {
        let [one, two] = [(); 2].map(|()| SharedTicketKeys::new(300));
        assert!(one.seal(b"session", START).is_none());
        exchange(&[&one, &two], START);
        assert!(one.seal(b"session", START + SPREAD_S - 1).is_none() && !one.is_active(START));
        let ticket = one.seal(b"session", START + SPREAD_S).expect("an active key");
        assert_eq!(opened(&two, &ticket, START + SPREAD_S).as_deref(), Some(&b"session"[..]));
        // The key of the next period is known to all nodes, so that it is used from the first second.
        let next = one.seal(b"next", START + 300).expect("an active key");
        assert_ne!(next[..NAME], ticket[..NAME]);
        let late = START + 299;
        assert_eq!(opened(&two, &next, late).as_deref(), Some(&b"next"[..]), "its clock is behind");
        assert!(opened(&two, &ticket, START + 599).is_some(), "it decrypts for one more period");
        assert!(opened(&two, &ticket, START + 600).is_none());
        assert!(one.seal(b"session", START + 600).is_none(), "no key was exchanged for this period");
        assert_eq!(one.keys.lock().len(), 1, "the first key is dropped");
    }

    #[test]
    fn lost_key_is_proposed_again_and_a_different_one_replaces_it_for_encryption() {
        let [one, two] = [(); 2].map(|()| SharedTicketKeys::new(300));
        exchange(&[&one], START);
        exchange(&[&two], START);
        let period = START / 300;
        let proposal = one.proposal(period, START + 9).expect("a key");
        assert_eq!(Some(&proposal), one.proposal(period, START + 20).as_ref());
        let ticket = two.seal(b"session", START + 10).expect("an active key");
        assert!(opened(&one, &ticket, START + 10).is_none());
        assert!(two.insert(period, &proposal, START + 11));
        assert!(opened(&two, &ticket, START + 11).is_some(), "the previous key still decrypts");
        let ticket = two.seal(b"session", START + 11).expect("an active key");
        assert!(opened(&one, &ticket, START + 11).is_some());
    }

    #[test]
    fn keys_of_other_periods_and_lengths_are_refused_and_their_number_is_limited() {
        let keys = SharedTicketKeys::new(1);
        let period = START / MIN_PERIOD_S;
        let exchanged = |length| ExchangedTicketKey { made_s: START, bytes: vec![7; length].into() };
        for refused in [period - 1, period + 2, 0, u64::MAX] {
            assert!(!keys.insert(refused, &exchanged(KEY), START), "{refused}");
        }
        assert!(!keys.insert(period, &exchanged(KEY - 1), START));
        for _ in 0..100 {
            let other = ExchangedTicketKey { made_s: u64::MAX, bytes: random().expect("randomness") };
            assert!(keys.insert(period, &other, START));
        }
        assert_eq!(keys.keys.lock().len(), MOST_KEYS);
        assert!(keys.is_active(START + SPREAD_S), "a creation time in the future has no effect");
        keys.clear();
        assert!(!keys.is_active(START + SPREAD_S));
        assert_eq!(keys.remaining_ms(period, START), 2 * MIN_PERIOD_S * 1000);
        assert_eq!(keys.remaining_ms(0, START), 1);
    }
}
