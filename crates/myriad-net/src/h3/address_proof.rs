//! Proof that a client receives packets at its address (address validation, RFC 9000 section 8.1).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::BytesMut;
use quinn_proto::crypto::{CryptoError, PacketKey};

/// Flag that a client's address is validated. Set by the first packet decrypted with the handshake keys: they are
/// derived from the server's first packets, so the client must have received these. Packet headers prove nothing,
/// because they can be forged.
#[derive(Clone, Debug, Default)]
pub(super) struct AddressProof(Arc<AtomicBool>);

impl AddressProof {
    /// Returns true if the address is validated.
    pub(super) fn is_proven(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Wraps a packet key so that its first successful decryption sets the flag.
    pub(super) fn wrap_key(&self, key: Box<dyn PacketKey>) -> Box<dyn PacketKey> {
        Box::new(ProvingKey { key, proof: self.clone() })
    }
}

struct ProvingKey {
    key: Box<dyn PacketKey>,
    proof: AddressProof,
}

impl PacketKey for ProvingKey {
    fn encrypt(&self, packet: u64, bytes: &mut [u8], header: usize) {
        self.key.encrypt(packet, bytes, header);
    }

    fn decrypt(&self, packet: u64, header: &[u8], payload: &mut BytesMut) -> Result<(), CryptoError> {
        self.key.decrypt(packet, header, payload)?;
        self.proof.0.store(true, Ordering::Relaxed);
        Ok(())
    }

    fn tag_len(&self) -> usize {
        self.key.tag_len()
    }

    fn confidentiality_limit(&self) -> u64 {
        self.key.confidentiality_limit()
    }

    fn integrity_limit(&self) -> u64 {
        self.key.integrity_limit()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Test key that decrypts only the packet `right`.
    struct Lock;

    impl PacketKey for Lock {
        fn encrypt(&self, _: u64, _: &mut [u8], _: usize) {}

        fn decrypt(&self, _: u64, _: &[u8], payload: &mut BytesMut) -> Result<(), CryptoError> {
            if &payload[..] == b"right" { Ok(()) } else { Err(CryptoError) }
        }

        fn tag_len(&self) -> usize {
            0
        }

        fn confidentiality_limit(&self) -> u64 {
            0
        }

        fn integrity_limit(&self) -> u64 {
            0
        }
    }

    #[test]
    fn only_a_packet_that_opens_is_a_proof() {
        let proof = AddressProof::default();
        let key = proof.wrap_key(Box::new(Lock));
        assert!(key.decrypt(0, b"", &mut BytesMut::from("wrong")).is_err() && !proof.is_proven());
        assert!(key.decrypt(1, b"", &mut BytesMut::from("right")).is_ok() && proof.is_proven());
    }
}
