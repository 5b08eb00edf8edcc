//! Tickets: sessions that clients keep themselves, sealed (RFC 5077, RFC 8446 section 4.6.1).
//!
//! ```text
//! ticket = name of the key (16) | nonce (12) | AES-256-GCM( made, s (8) | length (2) | session | padding ) | tag (16)
//! ```
//!
//! The padding keeps from the wire how long the name of the site and the client's certificates are.
//!
//! rustls has tickets too, whose keys last for six hours whatever `ssl_session_timeout` says, and no place for keys of the
//! administrator's own, which let several machines take each other's tickets.

use aws_lc_rs::aead::{AES_256_GCM, Aad, MAX_TAG_LEN, NONCE_LEN, Nonce, RandomizedNonceKey};
use aws_lc_rs::{digest, rand};
use parking_lot::Mutex;
use rustls::server::ProducesTickets;

const NAME: usize = 16;
const MADE: usize = 8;
/// What is sealed is a multiple of this.
const PADDED: usize = 64;

/// Lengths of the files of `ssl_session_ticket_key`, as nginx has them: a name, and two keys of 16 or 32 bytes.
const FILES: [usize; 2] = [48, 80];

struct Key {
    name: [u8; NAME],
    aead: RandomizedNonceKey,
}

impl Key {
    fn new(name: [u8; NAME], secret: &[u8]) -> Option<Self> {
        Some(Self { name, aead: RandomizedNonceKey::new(&AES_256_GCM, secret).ok()? })
    }

    fn random() -> Option<Self> {
        let mut bytes = [0; NAME + 32];
        rand::fill(&mut bytes).ok()?;
        let (name, secret) = bytes.split_first_chunk::<NAME>()?;
        Self::new(*name, secret)
    }

    /// Of the bytes of a file, all of which count.
    fn of_file(bytes: &[u8]) -> Option<Self> {
        let name = bytes.first_chunk::<NAME>().filter(|_| FILES.contains(&bytes.len()))?;
        Self::new(*name, digest::digest(&digest::SHA256, bytes).as_ref())
    }

    fn seal(&self, session: &[u8], now_s: u64) -> Option<Vec<u8>> {
        let length = u16::try_from(session.len()).ok()?;
        let padded = (MADE + 2 + session.len()).next_multiple_of(PADDED);
        let mut content = Vec::with_capacity(padded + MAX_TAG_LEN);
        content.extend_from_slice(&now_s.to_be_bytes());
        content.extend_from_slice(&length.to_be_bytes());
        content.extend_from_slice(session);
        content.resize(padded, 0);
        let nonce = self.aead.seal_in_place_append_tag(Aad::from(self.name), &mut content).ok()?;
        Some([&self.name[..], nonce.as_ref(), &content].concat())
    }

    /// The session, and when it was sealed.
    fn open(&self, ticket: &[u8]) -> Option<(u64, Vec<u8>)> {
        let (nonce, content) = ticket.get(NAME..)?.split_first_chunk::<NONCE_LEN>()?;
        let mut content = content.to_vec();
        let nonce = Nonce::assume_unique_for_key(*nonce);
        let plain = self.aead.open_in_place(nonce, Aad::from(self.name), &mut content).ok()?;
        let (made, rest) = plain.split_first_chunk::<MADE>()?;
        let (length, rest) = rest.split_first_chunk::<2>()?;
        let session = rest.get(..usize::from(u16::from_be_bytes(*length)))?;
        Some((u64::from_be_bytes(*made), session.to_vec()))
    }
}

/// What seals and opens tickets for servers of one life time; all workers share it.
pub(crate) struct Tickets {
    keys: Keys,
    /// `ssl_session_timeout`, seconds.
    lifetime_s: u32,
}

enum Keys {
    /// Of files; the first seals.
    Files(Vec<Key>),
    /// Made here, and again when they have served for a life time.
    Own(Mutex<Rotation>),
}

struct Rotation {
    current: Key,
    made_s: u64,
    last: Option<Key>,
}

impl std::fmt::Debug for Tickets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tickets").field("lifetime_s", &self.lifetime_s).finish_non_exhaustive()
    }
}

impl Tickets {
    /// With keys of its own; none without randomness.
    pub(crate) fn rotating(lifetime_s: u32) -> Option<Self> {
        let rotation = Rotation { current: Key::random()?, made_s: now_s(), last: None };
        Some(Self { keys: Keys::Own(Mutex::new(rotation)), lifetime_s: lifetime_s.max(1) })
    }

    /// With the keys of files; the error is the number of the file that is none.
    pub(crate) fn of_files(files: &[&[u8]], lifetime_s: u32) -> Result<Self, usize> {
        let keys: Result<_, _> =
            files.iter().enumerate().map(|(index, bytes)| Key::of_file(bytes).ok_or(index)).collect();
        Ok(Self { keys: Keys::Files(keys?), lifetime_s: lifetime_s.max(1) })
    }

    fn seal(&self, session: &[u8], now_s: u64) -> Option<Vec<u8>> {
        match &self.keys {
            Keys::Files(keys) => keys.first()?.seal(session, now_s),
            Keys::Own(rotation) => {
                let mut rotation = rotation.lock();
                if now_s.saturating_sub(rotation.made_s) >= u64::from(self.lifetime_s) {
                    let next = Key::random()?;
                    rotation.last = Some(std::mem::replace(&mut rotation.current, next));
                    rotation.made_s = now_s;
                }
                rotation.current.seal(session, now_s)
            }
        }
    }

    fn open(&self, ticket: &[u8], now_s: u64) -> Option<Vec<u8>> {
        let name = ticket.first_chunk::<NAME>()?;
        let (made_s, session) = match &self.keys {
            Keys::Files(keys) => keys.iter().find(|key| key.name == *name)?.open(ticket)?,
            Keys::Own(rotation) => {
                let rotation = rotation.lock();
                let mut known = std::iter::once(&rotation.current).chain(&rotation.last);
                known.find(|key| key.name == *name)?.open(ticket)?
            }
        };
        (now_s.saturating_sub(made_s) <= u64::from(self.lifetime_s)).then_some(session)
    }
}

impl ProducesTickets for Tickets {
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
    myriad_net::clock::now_ms() / 1000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ticket_is_opened_while_it_and_its_key_live() {
        let tickets = Tickets::rotating(300).unwrap();
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
    fn keys_of_files_open_what_others_sealed() {
        let (one, two) = ([1; 48], [2; 80]);
        let first = Tickets::of_files(&[&one], 300).unwrap();
        let both = Tickets::of_files(&[&two, &one], 300).unwrap();
        let ticket = first.seal(b"session", 5).unwrap();
        assert!(both.open(&ticket, 5).is_some());
        assert!(first.open(&both.seal(b"session", 5).unwrap(), 5).is_none());
        assert_eq!(Tickets::of_files(&[&one, &[3; 47]], 300).err(), Some(1));
    }

    #[test]
    fn damage_opens_nothing() {
        let tickets = Tickets::rotating(300).unwrap();
        let ticket = tickets.seal(b"session", now_s()).unwrap();
        for position in 0..ticket.len() {
            let mut damaged = ticket.clone();
            damaged[position] ^= 1;
            assert_eq!(tickets.open(&damaged, now_s()), None);
            assert_eq!(tickets.open(&ticket[..position], now_s()), None);
        }
    }
}
