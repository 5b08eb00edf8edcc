//! Connection IDs that encode the worker of their connection (RFC 9000 section 5.1).
//!
//! ```text
//!   6 random bytes | worker, process (masked) | 2 check bytes, to detect foreign IDs
//! ```
//!
//! The mask and the check bytes are a keyed hash of the random bytes. An observer cannot link the IDs of a connection,
//! and datagrams are routed to their worker without a table shared between threads.

use quinn_proto::{ConnectionId, ConnectionIdGenerator, InvalidCid};
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Length of a connection ID in bytes.
pub(super) const LENGTH: usize = 10;
/// Number of random bytes at the start of a connection ID.
const RANDOM: usize = 6;

/// Worker and process that own a QUIC connection, as encoded in its connection ID.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CidOwner {
    /// Number of the worker thread.
    pub(super) worker: u8,
    /// Number of the worker's process, modulo 256.
    pub(super) process: u8,
}

/// Generator of the QUIC connection IDs of one worker; decodes the IDs of all workers with the same key.
#[derive(Clone, Copy, Debug)]
pub(super) struct CidGenerator {
    pub(super) key: u64,
    pub(super) own: CidOwner,
}

impl CidGenerator {
    fn seal(&self, random: [u8; RANDOM], owner: CidOwner) -> [u8; LENGTH] {
        let mut id = [0; LENGTH];
        id[..RANDOM].copy_from_slice(&random);
        let mask = xxh3_64_with_seed(&random, self.key).to_le_bytes();
        id[RANDOM] = owner.worker ^ mask[0];
        id[RANDOM + 1] = owner.process ^ mask[1];
        let check = xxh3_64_with_seed(&id[..RANDOM + 2], !self.key).to_le_bytes();
        id[RANDOM + 2..].copy_from_slice(&check[..2]);
        id
    }

    /// Decodes the owner of a connection ID; `None` if the ID was not generated with this key.
    pub(super) fn owner(&self, id: &[u8]) -> Option<CidOwner> {
        let (random, rest) = id.split_first_chunk::<RANDOM>()?;
        let mask = xxh3_64_with_seed(random, self.key).to_le_bytes();
        let owner = CidOwner { worker: rest.first()? ^ mask[0], process: rest.get(1)? ^ mask[1] };
        (id == self.seal(*random, owner)).then_some(owner)
    }
}

impl ConnectionIdGenerator for CidGenerator {
    fn generate_cid(&mut self) -> ConnectionId {
        let mut random = [0; RANDOM];
        // An error is ignored: TLS fails without random numbers as well.
        let _ = aws_lc_rs::rand::fill(&mut random);
        ConnectionId::new(&self.seal(random, self.own))
    }

    fn validate(&self, id: &ConnectionId) -> Result<(), InvalidCid> {
        self.owner(id).map(drop).ok_or(InvalidCid)
    }

    fn cid_len(&self) -> usize {
        LENGTH
    }

    fn cid_lifetime(&self) -> Option<std::time::Duration> {
        None
    }
}

/// Returns the destination connection ID of a datagram (RFC 9000 section 17) and true for a long header, whose ID may
/// be chosen by the client. `None` if the datagram is too short.
pub(super) fn destination(datagram: &[u8]) -> Option<(&[u8], bool)> {
    let first = *datagram.first()?;
    if first & 0x80 == 0 {
        return datagram.get(1..=LENGTH).map(|id| (id, false));
    }
    let length = usize::from(*datagram.get(5)?);
    datagram.get(6..6 + length).map(|id| (id, true))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connection_id_contains_worker_for_holders_of_key() {
        for worker in [0, 1, 63, 255] {
            let own = CidOwner { worker, process: 7 };
            let mut names = CidGenerator { key: 42, own };
            let id = names.generate_cid();
            assert_eq!(names.owner(&id), Some(own));
            assert!(names.validate(&id).is_ok());
            let other_key = CidGenerator { key: 43, own };
            assert_eq!(other_key.owner(&id), None);
            let mut other = id;
            other[3] ^= 1;
            assert_eq!(names.owner(&other), None);
            assert_eq!(names.owner(&id[..9]), None);
        }
    }

    #[test]
    fn ids_of_one_worker_have_nothing_in_common() {
        let mut names = CidGenerator { key: 1, own: CidOwner { worker: 3, process: 0 } };
        let ids: Vec<ConnectionId> = (0..64).map(|_| names.generate_cid()).collect();
        let alike = |at: usize| ids.iter().all(|id| id[at] == ids[0][at]);
        assert!((0..LENGTH).all(|at| !alike(at)));
    }

    #[test]
    fn destinations_are_read_of_short_and_long_headers() {
        let short = [&[0x40][..], &[7; LENGTH], &[1]].concat();
        assert_eq!(destination(&short), Some((&[7; LENGTH][..], false)));
        assert_eq!(destination(&[0xc0, 0, 0, 0, 1, 2, 8, 9, 0]), Some((&[8, 9][..], true)));
        for cut in [&[][..], &[0x40; 5], &[0xc0, 0, 0, 0, 1], &[0xc0, 0, 0, 0, 1, 3, 8, 9]] {
            assert_eq!(destination(cut), None);
        }
    }
}
