//! Session tickets: encrypted sessions that clients store (RFC 5077, RFC 8446 section 4.6.1).
//!
//! ```text
//! ticket = key name (16) | nonce (12) | AES-256-GCM( time, s (8) | length (2) | session | padding ) | tag (16)
//! ```
//!
//! The padding hides the exact length of the session, which depends on the server name and the client's certificates.
//!
//! rustls supports tickets as well, but rotates keys every six hours regardless of `ssl_session_timeout`, and does not
//! support keys from files, by which several machines can accept each other's tickets, or keys that the nodes of a
//! cluster share.

use std::sync::Arc;

use parking_lot::Mutex;
use rustls::server::ProducesTickets;
use zeroize::Zeroizing;

use super::shared_ticket_keys::SharedTicketKeys;
use super::ticket_key::{KEY, NAME, SerializedTicketKey, TicketKey, random};
use super::ticket_key_store::TicketKeyStore;

/// Cipher of session tickets with one lifetime, shared by all workers. Without key files it is also shared by all
/// servers with this lifetime.
pub(crate) struct TicketCipher {
    keys: TicketKeys,
    /// Lifetime of the tickets in seconds (`ssl_session_timeout`).
    lifetime_s: u32,
}

enum TicketKeys {
    /// Keys from `ssl_session_ticket_key` files: the first encrypts, all decrypt.
    Files(Vec<TicketKey>),
    /// Random keys of this process, and the keys that the nodes of a cluster share. A new random key is generated once
    /// the current one has been in use for one lifetime. Random keys encrypt only while no shared key may.
    Own(Mutex<TicketKeyRotation>, Arc<SharedTicketKeys>),
}

struct TicketKeyRotation {
    /// Time at which the current key was generated, in seconds since the Unix epoch.
    made_s: u64,
    current: SerializedTicketKey,
    last: Option<SerializedTicketKey>,
    store: Option<Arc<dyn TicketKeyStore>>,
}

/// Serialized ticket keys of a cipher, as passed to a [`TicketKeyStore`]. Overwritten when dropped.
type TicketKeyRecord = Zeroizing<Vec<u8>>;

impl TicketKeyRotation {
    fn new(now_s: u64) -> Option<Self> {
        Some(Self { made_s: now_s, current: SerializedTicketKey::of(random()?)?, last: None, store: None })
    }

    /// Parses serialized keys: the creation time of the current key (8 bytes, seconds since the Unix epoch), the
    /// current key, and the previous key, if any. `None` if they are malformed.
    fn read(record: &[u8]) -> Option<Self> {
        let (made, rest) = record.split_first_chunk::<8>()?;
        let (current, rest) = rest.split_at_checked(KEY)?;
        let last = if rest.is_empty() { None } else { Some(SerializedTicketKey::read(rest)?) };
        Some(Self {
            made_s: u64::from_be_bytes(*made),
            current: SerializedTicketKey::read(current)?,
            last,
            store: None,
        })
    }

    /// Replaces the current key if it is one lifetime old, or if the clock was set back to before its creation. Returns
    /// true if it was replaced; `None` if random numbers are not available.
    fn rotate(&mut self, now_s: u64, lifetime_s: u32) -> Option<bool> {
        // A key is also replaced if the clock was set back; otherwise it would be used for longer.
        let age_s = now_s.checked_sub(self.made_s);
        if age_s.is_some_and(|age_s| age_s < u64::from(lifetime_s)) {
            return Some(false);
        }
        let next = SerializedTicketKey::of(random()?)?;
        let before = std::mem::replace(&mut self.current, next);
        // After two lifetimes all tickets of the replaced key have expired.
        let is_needed = age_s.is_none_or(|age_s| age_s / 2 < u64::from(lifetime_s));
        self.last = is_needed.then_some(before);
        self.made_s = now_s;
        Some(true)
    }

    /// Decrypts a ticket whose key has this name. Returns its time of encryption in seconds since the Unix epoch, and
    /// the session; `None` if neither the current nor the previous key has the name, or the ticket is invalid.
    fn open(&self, name: &[u8; NAME], ticket: &[u8]) -> Option<(u64, Vec<u8>)> {
        let mut known = std::iter::once(&self.current).chain(&self.last);
        known.find(|known| known.key.name == *name)?.key.open(ticket)
    }

    /// Returns the ticket key store and the serialized keys to pass to it; `None` if there is no store. The caller must
    /// release the lock of the keys before it calls the store, because the store may block.
    fn record(&self) -> Option<(Arc<dyn TicketKeyStore>, TicketKeyRecord)> {
        let keeper = self.store.clone()?;
        let last = self.last.as_ref().map_or(&[][..], |last| &last.bytes[..]);
        Some((keeper, [&self.made_s.to_be_bytes()[..], &self.current.bytes[..], last].concat().into()))
    }
}

impl std::fmt::Debug for TicketCipher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TicketCipher").field("lifetime_s", &self.lifetime_s).finish_non_exhaustive()
    }
}

impl TicketCipher {
    /// Creates a cipher with the serialized keys of the previous process in `record`, or with new random keys if there
    /// are none or they are malformed. New keys are passed to `keeper`. `None` if random numbers are not available.
    pub(crate) fn rotating(
        lifetime_s: u32,
        record: Option<&[u8]>,
        keeper: Option<Arc<dyn TicketKeyStore>>,
    ) -> Option<Self> {
        let lifetime_s = lifetime_s.max(1);
        let known = record.and_then(TicketKeyRotation::read);
        let is_new = known.is_none();
        let mut rotation = known.or_else(|| TicketKeyRotation::new(now_s()))?;
        rotation.store = keeper;
        if is_new && let Some((keeper, record)) = rotation.record() {
            keeper.ticket_keys(lifetime_s, Some(&record));
        }
        let shared = Arc::new(SharedTicketKeys::new(lifetime_s));
        Some(Self { keys: TicketKeys::Own(Mutex::new(rotation), shared), lifetime_s })
    }

    /// Creates a cipher with keys from the contents of files. The error is the index of the first file with a wrong
    /// length.
    pub(crate) fn of_files(files: &[&[u8]], lifetime_s: u32) -> Result<Self, usize> {
        let keys: Result<_, _> =
            files.iter().enumerate().map(|(index, bytes)| TicketKey::of_file(bytes).ok_or(index)).collect();
        Ok(Self { keys: TicketKeys::Files(keys?), lifetime_s: lifetime_s.max(1) })
    }

    fn seal(&self, session: &[u8], now_s: u64) -> Option<Vec<u8>> {
        match &self.keys {
            TicketKeys::Files(keys) => keys.first()?.seal(session, now_s),
            TicketKeys::Own(rotation, shared) => {
                if let Some(sealed) = shared.seal(session, now_s) {
                    return Some(sealed);
                }
                let mut rotation = rotation.lock();
                let is_new = rotation.rotate(now_s, self.lifetime_s)?;
                let to_store = if is_new { rotation.record() } else { None };
                let sealed = rotation.current.key.seal(session, now_s);
                drop(rotation);
                if let Some((keeper, record)) = to_store {
                    keeper.ticket_keys(self.lifetime_s, Some(&record));
                }
                sealed
            }
        }
    }

    /// Returns the set of keys that the nodes of a cluster may share; `None` if the keys are from files.
    pub(crate) fn shared_keys(&self) -> Option<&Arc<SharedTicketKeys>> {
        match &self.keys {
            TicketKeys::Files(_) => None,
            TicketKeys::Own(_, shared) => Some(shared),
        }
    }

    /// Removes generated keys from the store and passes no more keys to it. Connections of an older configuration may
    /// still use the keys in this process.
    pub(crate) fn retire(&self) {
        if let TicketKeys::Own(rotation, _) = &self.keys {
            let keeper = rotation.lock().store.take();
            if let Some(keeper) = keeper {
                keeper.ticket_keys(self.lifetime_s, None);
            }
        }
    }

    fn open(&self, ticket: &[u8], now_s: u64) -> Option<Vec<u8>> {
        let name = ticket.first_chunk::<NAME>()?;
        let (made_s, session) = match &self.keys {
            TicketKeys::Files(keys) => keys.iter().find(|key| key.name == *name)?.open(ticket)?,
            TicketKeys::Own(rotation, shared) => {
                shared.open(name, ticket, now_s).or_else(|| rotation.lock().open(name, ticket))?
            }
        };
        (now_s.saturating_sub(made_s) <= u64::from(self.lifetime_s)).then_some(session)
    }
}

impl ProducesTickets for TicketCipher {
    fn enabled(&self) -> bool {
        true
    }

    fn lifetime(&self) -> u32 {
        self.lifetime_s
    }

    fn encrypt(&self, plain: &[u8]) -> Option<Vec<u8>> {
        self.seal(plain, now_s())
    }

    fn decrypt(&self, cipher: &[u8]) -> Option<Vec<u8>> {
        self.open(cipher, now_s())
    }
}

fn now_s() -> u64 {
    myriad_net::clock::wall_ms() / 1000
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::acme_client::memory_scan::SecretScanner;
    use crate::resume::shared_ticket_keys::SPREAD_S;
    use crate::resume::ticket_key_store::tests::RecordedTicketKeys;

    #[test]
    fn a_ticket_is_opened_while_it_and_its_key_live() {
        let tickets = TicketCipher::rotating(300, None, None).unwrap();
        let start = now_s();
        let ticket = tickets.seal(b"session", start).unwrap();
        assert_eq!(tickets.open(&ticket, start + 300).as_deref(), Some(&b"session"[..]));
        assert_eq!(tickets.open(&ticket, start + 301), None);
        let next = tickets.seal(b"other", start + 300).unwrap();
        assert_ne!(next[..NAME], ticket[..NAME], "the key was made anew");
        assert!(tickets.open(&ticket, start + 300).is_some(), "the last key still opens");
        tickets.seal(b"third", start + 600).unwrap();
        assert!(tickets.open(&ticket, start + 300).is_none(), "the one before does not");
    }

    #[test]
    fn keys_live_on_in_another_process_and_old_ones_do_not() {
        let recorded = Arc::new(RecordedTicketKeys::default());
        let first = TicketCipher::rotating(300, None, Some(Arc::clone(&recorded) as _)).unwrap();
        let start = now_s();
        let old = first.seal(b"old", start).unwrap();
        let new = first.seal(b"new", start + 300).unwrap();
        let records: Vec<(u32, Vec<u8>)> = recorded
            .0
            .lock()
            .iter()
            .map(|(lifetime_s, record)| (*lifetime_s, record.clone().expect("keys")))
            .collect();
        assert_eq!(records.iter().map(|(lifetime_s, _)| *lifetime_s).collect::<Vec<_>>(), [300, 300]);
        let successor = |record: &[u8]| TicketCipher::rotating(300, Some(record), None).unwrap();
        assert!(successor(&records[0].1).open(&old, start).is_some());
        assert!(successor(&records[0].1).open(&new, start + 300).is_none());
        let second = successor(&records[1].1);
        assert!(second.open(&old, start + 300).is_some() && second.open(&new, start + 300).is_some());
        second.seal(b"next", start + 600).unwrap();
        assert!(second.open(&old, start + 300).is_none(), "its key rotated as the first one's would have");
        second.seal(b"after a silence", start + 2000).unwrap();
        assert!(second.open(&new, start + 300).is_none(), "a key that nothing valid needs is forgotten");
        for cut in 0..records[1].1.len() {
            assert!(cut == 56 || TicketKeyRotation::read(&records[1].1[..cut]).is_none(), "{cut}");
        }
    }

    #[test]
    fn tickets_of_shared_keys_are_opened_by_other_nodes_and_those_of_own_keys_remain_valid() {
        let [one, two] = [(); 2].map(|()| TicketCipher::rotating(300, None, None).unwrap());
        let start = now_s();
        let own = one.seal(b"own", start).unwrap();
        let [first, second] = [&one, &two].map(|tickets| tickets.shared_keys().expect("own keys"));
        for period in first.needed_periods(start) {
            let agreed = first.proposal(period, start).unwrap();
            assert!(first.insert(period, &agreed, start) && second.insert(period, &agreed, start));
        }
        let later = start + SPREAD_S;
        let shared = one.seal(b"shared", later).unwrap();
        assert_eq!(two.open(&shared, later).as_deref(), Some(&b"shared"[..]));
        assert!(two.open(&shared, later + 301).is_none(), "the ticket has expired");
        assert!(one.open(&own, later).is_some() && two.open(&own, later).is_none());
        first.clear();
        assert!(one.open(&shared, later).is_none());
        assert!(one.open(&one.seal(b"own", later).unwrap(), later).is_some());
    }

    #[test]
    fn keys_of_files_open_what_others_sealed() {
        let (one, two) = ([1; 48], [2; 80]);
        let first = TicketCipher::of_files(&[&one], 300).unwrap();
        let both = TicketCipher::of_files(&[&two, &one], 300).unwrap();
        let ticket = first.seal(b"session", 5).unwrap();
        assert!(both.open(&ticket, 5).is_some());
        assert!(first.open(&both.seal(b"session", 5).unwrap(), 5).is_none());
        assert_eq!(TicketCipher::of_files(&[&one, &[3; 47]], 300).err(), Some(1));
    }

    #[test]
    fn keys_are_overwritten_when_they_are_forgotten() {
        let tickets = TicketCipher::rotating(300, None, None).unwrap();
        let TicketKeys::Own(rotation, _) = &tickets.keys else { panic!("made here") };
        let sought = SecretScanner::new(&rotation.lock().current.bytes[NAME..]);
        let start = now_s();
        let ticket = tickets.seal(b"session", start).unwrap();
        tickets.seal(b"session", start + 300).unwrap();
        assert!(tickets.open(&ticket, start).is_some() && sought.count() > 0, "the key before still opens");
        tickets.seal(b"session", start + 600).unwrap();
        assert!(tickets.open(&ticket, start).is_none());
        assert_eq!(sought.count(), 0);
        let record = rotation.lock().current.bytes.to_vec();
        let sought = SecretScanner::new(&record[NAME..]);
        let record = Zeroizing::new([&[0; 8][..], &Zeroizing::new(record)].concat());
        let successor = TicketCipher::rotating(300, Some(&record), None).unwrap();
        drop((record, tickets, successor));
        assert_eq!(sought.count(), 0, "handed on");
    }

    #[test]
    fn damage_opens_nothing() {
        let tickets = TicketCipher::rotating(300, None, None).unwrap();
        let ticket = tickets.seal(b"session", now_s()).unwrap();
        for position in 0..ticket.len() {
            let mut damaged = ticket.clone();
            damaged[position] ^= 1;
            assert_eq!(tickets.open(&damaged, now_s()), None);
            assert_eq!(tickets.open(&ticket[..position], now_s()), None);
        }
    }
}
