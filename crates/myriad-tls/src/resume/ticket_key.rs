//! Key that encrypts and decrypts session tickets.

use aws_lc_rs::aead::{AES_256_GCM, Aad, MAX_TAG_LEN, NONCE_LEN, Nonce, RandomizedNonceKey};
use aws_lc_rs::{digest, rand};
use zeroize::Zeroizing;

/// Length of the name of a ticket key in bytes. The name precedes the encrypted data of a ticket.
pub(super) const NAME: usize = 16;
/// Length of the secret of a ticket key in bytes.
const SECRET: usize = 32;
/// Total length of a serialized ticket key in bytes: its name and its secret.
pub(super) const KEY: usize = NAME + SECRET;
/// Length in bytes of the time of encryption in a ticket.
const MADE: usize = 8;
/// Block size in bytes: a session is padded to a multiple of this size before it is encrypted in a ticket.
const PADDED: usize = 64;

/// Permitted sizes of `ssl_session_ticket_key` files in bytes, as in nginx: a name of 16 bytes, and two keys of 16 or
/// 32 bytes each.
const FILES: [usize; 2] = [48, 80];

/// Serialized ticket key: its name and its secret, [`KEY`] bytes. Overwritten when dropped. On the heap, because moving
/// an array would leave copies.
pub(super) type KeyBytes = Zeroizing<Vec<u8>>;

/// Generates a random ticket key; `None` if random numbers are not available.
pub(super) fn random() -> Option<KeyBytes> {
    let mut bytes = KeyBytes::new(vec![0; KEY]);
    rand::fill(&mut bytes).ok()?;
    Some(bytes)
}

/// Ticket key with the name by which tickets refer to it.
pub(super) struct TicketKey {
    pub(super) name: [u8; NAME],
    aead: RandomizedNonceKey,
}

impl TicketKey {
    fn new(name: [u8; NAME], secret: &[u8]) -> Option<Self> {
        Some(Self { name, aead: RandomizedNonceKey::new(&AES_256_GCM, secret).ok()? })
    }

    /// Creates a ticket key from its serialized form; `None` if the length is wrong.
    pub(super) fn of(bytes: &[u8]) -> Option<Self> {
        let (name, secret) = bytes.split_first_chunk::<NAME>()?;
        Self::new(*name, secret)
    }

    /// Creates a ticket key from the contents of a file. The name is its first 16 bytes; the secret is a hash of all
    /// bytes. `None` if the length is wrong.
    pub(super) fn of_file(bytes: &[u8]) -> Option<Self> {
        let name = bytes.first_chunk::<NAME>().filter(|_| FILES.contains(&bytes.len()))?;
        Self::new(*name, digest::digest(&digest::SHA256, bytes).as_ref())
    }

    /// Encrypts a session and its time of encryption, `now_s` (seconds since the Unix epoch). The length of the result
    /// hides the exact length of the session. `None` if the session is longer than 65,535 bytes or the encryption
    /// fails.
    pub(super) fn seal(&self, session: &[u8], now_s: u64) -> Option<Vec<u8>> {
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

    /// Decrypts a ticket. Returns the time of its encryption in seconds since the Unix epoch, and the session; `None`
    /// if the ticket is malformed or was not encrypted with this key. The age of the ticket is not checked.
    pub(super) fn open(&self, ticket: &[u8]) -> Option<(u64, Vec<u8>)> {
        let (nonce, content) = ticket.get(NAME..)?.split_first_chunk::<NONCE_LEN>()?;
        let mut content = Zeroizing::new(content.to_vec());
        let nonce = Nonce::assume_unique_for_key(*nonce);
        let plain = self.aead.open_in_place(nonce, Aad::from(self.name), &mut content).ok()?;
        let (made, rest) = plain.split_first_chunk::<MADE>()?;
        let (length, rest) = rest.split_first_chunk::<2>()?;
        let session = rest.get(..usize::from(u16::from_be_bytes(*length)))?;
        Some((u64::from_be_bytes(*made), session.to_vec()))
    }
}

/// Ticket key with its serialized form.
pub(super) struct SerializedTicketKey {
    pub(super) key: TicketKey,
    pub(super) bytes: KeyBytes,
}

impl SerializedTicketKey {
    /// Creates a ticket key from its serialized form; `None` if the length is wrong.
    pub(super) fn of(bytes: KeyBytes) -> Option<Self> {
        Some(Self { key: TicketKey::of(&bytes)?, bytes })
    }

    /// Reads a serialized ticket key; `None` unless it has [`KEY`] bytes.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        if bytes.len() == KEY { Self::of(bytes.to_vec().into()) } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn length_of_a_session_is_hidden_in_steps() {
        let key = TicketKey::of(&random().unwrap()).unwrap();
        let sealed = |length: usize| key.seal(&vec![7; length], 5).unwrap().len();
        let around = NAME + NONCE_LEN + MAX_TAG_LEN;
        assert_eq!([0, 1, PADDED - MADE - 2].map(sealed), [around + PADDED; 3]);
        assert_eq!(sealed(PADDED - MADE - 1), around + 2 * PADDED);
        for length in [0, 1, 53, 54, 55, 2000] {
            let ticket = key.seal(&vec![7; length], 9).unwrap();
            assert_eq!(key.open(&ticket), Some((9, vec![7; length])));
        }
    }

    #[test]
    fn session_that_its_length_has_no_room_for_is_not_sealed() {
        let key = TicketKey::of(&random().unwrap()).unwrap();
        assert!(key.seal(&vec![0; 65_535], 1).is_some());
        assert!(key.seal(&vec![0; 65_536], 1).is_none());
    }

    #[test]
    fn all_bytes_of_a_file_count() {
        let of = |change: usize| {
            let mut bytes = [3; 80];
            bytes[change] ^= 1;
            TicketKey::of_file(&bytes).unwrap()
        };
        let ticket = TicketKey::of_file(&[3; 80]).unwrap().seal(b"session", 1).unwrap();
        assert!(TicketKey::of_file(&[3; 80]).unwrap().open(&ticket).is_some());
        for change in [16, 48, 79] {
            assert!(of(change).open(&ticket).is_none(), "{change}");
        }
        assert_ne!(of(0).name, of(1).name);
        for length in [0, 47, 49, 79, 81] {
            assert!(TicketKey::of_file(&vec![3; length]).is_none(), "{length}");
        }
    }
}
