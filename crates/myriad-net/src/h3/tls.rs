//! TLS of QUIC connections (RFC 9001), with the rustls settings of the requested server.
//!
//! Keys and packets are handled by rustls and quinn. This module parses the client hello to select a server before the
//! TLS session is created, which neither rustls nor quinn supports for QUIC.

use std::any::Any;
use std::io::Cursor;
use std::sync::{Arc, OnceLock};

use quinn_proto::crypto::{
    ExportKeyingMaterialError, HeaderKey, KeyPair, Keys, PacketKey, ServerConfig as CryptoConfig, Session,
    UnsupportedVersion,
};
use quinn_proto::transport_parameters::TransportParameters;
use quinn_proto::{ConnectionId, Side, TransportError, TransportErrorCode};
use rustls::quic::{KeyChange, Secrets, ServerConnection, Suite, Version};
use rustls::server::{Acceptor, ClientHello};

use super::address_proof::AddressProof;
use crate::tls::{ClientOffer, Refusal, TlsFacts, with_client_scheme};

/// The only supported version of QUIC (RFC 9000).
pub(super) const VERSION: u32 = 1;
/// Maximum size of an accepted client hello in bytes. One with a post-quantum key and a session ticket has about 2,000.
const LONGEST_HELLO: usize = 32 << 10;
/// Maximum payload of a TLS record in bytes.
const RECORD: usize = 16 << 10;
/// TLS alert `decode_error` (RFC 8446 section 6), sent for an invalid or too large client hello.
const DECODE_ERROR: u8 = 50;
/// TLS alert `internal_error`, sent if the server has no usable certificate, or rustls rejects its TLS settings.
const INTERNAL_ERROR: u8 = 80;

impl Refusal {
    fn alert(self) -> u8 {
        match self {
            Self::UnrecognizedName => 112,
            Self::NoApplicationProtocol => 120,
            Self::NoCertificate => INTERNAL_ERROR,
        }
    }
}

/// Selection of the TLS settings for a client. Called once per handshake, on the thread of the connection.
pub trait ChooseTls: Send + Sync {
    /// Returns the TLS settings of the requested server. Their ALPN protocols must be `h3` only.
    ///
    /// # Errors
    ///
    /// The reason to reject the client.
    fn choose(&self, hello: &ClientHello<'_>) -> Result<Arc<rustls::ServerConfig>, Refusal>;

    /// Returns true if the offers of the client hello (cipher suites, groups, signature schemes) must be stored,
    /// because variables such as `$ssl_ciphers` use them.
    fn stores_offers(&self) -> bool;
}

/// Cipher suite of initial packets (RFC 9001 section 5.2), and the key that authenticates Retry packets.
struct InitialSuite {
    suite: Suite,
    retry_key: aws_lc_rs::aead::LessSafeKey,
}

/// Fixed key of Retry packets (RFC 9001 section 5.8).
const RETRY_KEY: [u8; 16] =
    [0xbe, 0x0c, 0x69, 0x0b, 0x9f, 0x66, 0x57, 0x5a, 0x1d, 0x76, 0x6b, 0x54, 0xe3, 0x68, 0xc8, 0x4e];
/// Fixed nonce of Retry packets (RFC 9001 section 5.8).
const RETRY_NONCE: [u8; 12] = [0x46, 0x15, 0x99, 0xd3, 0x5d, 0x63, 0x2b, 0xf2, 0x23, 0x98, 0x25, 0xbb];

/// Returns the suite of initial packets; `None` only if the cryptographic library lacks AES-128-GCM.
fn initial() -> Option<&'static InitialSuite> {
    static INITIAL: OnceLock<Option<InitialSuite>> = OnceLock::new();
    INITIAL
        .get_or_init(|| {
            let suite = rustls::crypto::aws_lc_rs::cipher_suite::TLS13_AES_128_GCM_SHA256;
            let key = aws_lc_rs::aead::UnboundKey::new(&aws_lc_rs::aead::AES_128_GCM, &RETRY_KEY).ok()?;
            let retry_key = aws_lc_rs::aead::LessSafeKey::new(key);
            Some(InitialSuite { suite: suite.tls13()?.quic_suite()?, retry_key })
        })
        .as_ref()
}

/// Cryptographic configuration of one connection: creates its TLS session.
pub(super) struct QuicServerCrypto {
    choose: Arc<dyn ChooseTls>,
    proof: AddressProof,
}

impl QuicServerCrypto {
    /// Creates the configuration of one connection. Its handshake sets `proof`.
    pub(super) fn new(choose: Arc<dyn ChooseTls>, proof: AddressProof) -> Self {
        Self { choose, proof }
    }
}

impl CryptoConfig for QuicServerCrypto {
    fn initial_keys(&self, version: u32, id: &ConnectionId) -> Result<Keys, UnsupportedVersion> {
        let initial = initial().filter(|_| version == VERSION).ok_or(UnsupportedVersion)?;
        Ok(keys(initial.suite.keys(id, rustls::Side::Server, Version::V1)))
    }

    fn retry_tag(&self, _: u32, original: &ConnectionId, packet: &[u8]) -> [u8; 16] {
        let mut sealed = [0; 16];
        let Some(initial) = initial() else { return sealed };
        let covered = [&[original.len() as u8][..], original, packet].concat();
        let nonce = aws_lc_rs::aead::Nonce::assume_unique_for_key(RETRY_NONCE);
        let aad = aws_lc_rs::aead::Aad::from(covered);
        if let Ok(tag) = initial.retry_key.seal_in_place_separate_tag(nonce, aad, &mut []) {
            sealed.copy_from_slice(tag.as_ref());
        }
        sealed
    }

    fn start_session(self: Arc<Self>, _: u32, parameters: &TransportParameters) -> Box<dyn Session> {
        let mut bytes = Vec::new();
        parameters.write(&mut bytes);
        Box::new(QuicHandshake {
            state: QuicHandshakeState::Hello {
                bytes: Vec::new(),
                parameters: bytes,
                choose: Arc::clone(&self.choose),
            },
            next: None,
            proof: self.proof.clone(),
            offer: None,
        })
    }
}

/// TLS session of a QUIC connection.
struct QuicHandshake {
    state: QuicHandshakeState,
    /// Secrets for the keys of the next key update (RFC 9001 section 6); `None` until the handshake has produced them.
    next: Option<Secrets>,
    /// Flag of the address validation, set by the first packet with the handshake keys.
    proof: AddressProof,
    /// Offers of the client hello for variables such as `$ssl_ciphers`; `None` if the service does not need them.
    offer: Option<Box<ClientOffer>>,
}

enum QuicHandshakeState {
    /// The client hello is not complete yet.
    Hello { bytes: Vec<u8>, parameters: Vec<u8>, choose: Arc<dyn ChooseTls> },
    /// A server is selected, and its TLS session is running.
    Server(Box<ServerConnection>),
}

fn alert(code: u8, reason: impl Into<String>) -> TransportError {
    TransportError { code: TransportErrorCode::crypto(code), frame: None, reason: reason.into() }
}

impl QuicHandshake {
    fn server(&self) -> Option<&ServerConnection> {
        match &self.state {
            QuicHandshakeState::Server(server) => Some(server),
            QuicHandshakeState::Hello { .. } => None,
        }
    }

    fn read_server(&mut self, bytes: &[u8]) -> Result<(), TransportError> {
        let QuicHandshakeState::Server(server) = &mut self.state else { return Ok(()) };
        let (taken_in, scheme) = with_client_scheme(|| server.read_hs(bytes));
        if let Some(offer) = &mut self.offer {
            offer.client_signed = scheme.or(offer.client_signed);
        }
        taken_in.map_err(|error| {
            let violation = TransportErrorCode::PROTOCOL_VIOLATION;
            let code = server.alert().map_or(violation, |alert| TransportErrorCode::crypto(alert.into()));
            TransportError { code, frame: None, reason: error.to_string() }
        })
    }
}

/// Returns true if the client hello is complete. Fails if the message is of another type or too long.
fn is_whole(bytes: &[u8]) -> Result<bool, TransportError> {
    let Some((head, rest)) = bytes.split_first_chunk::<4>() else { return Ok(false) };
    let length = usize::from(head[1]) << 16 | usize::from(head[2]) << 8 | usize::from(head[3]);
    if head[0] != 1 || length > LONGEST_HELLO {
        return Err(alert(DECODE_ERROR, "missing or too large ClientHello"));
    }
    Ok(rest.len() >= length)
}

/// TLS settings of the selected server, and the offers of the client hello if they are stored.
type SelectedTls = (Arc<rustls::ServerConfig>, Option<Box<ClientOffer>>);

/// Parses a client hello with rustls, wrapped in records as on TCP, and selects the TLS settings.
fn choose(hello: &[u8], choose: &dyn ChooseTls) -> Result<SelectedTls, TransportError> {
    let mut acceptor = Acceptor::default();
    let mut records = Vec::with_capacity(hello.len() + 16);
    for piece in hello.chunks(RECORD) {
        records.extend_from_slice(&[22, 3, 1, (piece.len() >> 8) as u8, piece.len() as u8]);
        records.extend_from_slice(piece);
    }
    let mut wire = Cursor::new(&records[..]);
    loop {
        match acceptor.accept() {
            Ok(Some(accepted)) => {
                let config = choose.choose(&accepted.client_hello()).map_err(|refusal| {
                    let reason = match refusal {
                        Refusal::UnrecognizedName => "no server has this name",
                        Refusal::NoApplicationProtocol => "the server does not support HTTP/3",
                        Refusal::NoCertificate => "the server has no certificate",
                    };
                    alert(refusal.alert(), reason)
                })?;
                let offer = choose.stores_offers().then(|| {
                    let mut offer = Box::new(ClientOffer::of(&accepted, &config));
                    offer.number(&config);
                    offer
                });
                return Ok((config, offer));
            }
            Ok(None) => {}
            Err((error, _)) => return Err(alert(DECODE_ERROR, error.to_string())),
        }
        if !acceptor.read_tls(&mut wire).is_ok_and(|count| count > 0) {
            return Err(alert(DECODE_ERROR, "missing ClientHello"));
        }
    }
}

impl Session for QuicHandshake {
    fn initial_keys(&self, id: &ConnectionId, side: Side) -> Keys {
        let side = if side.is_client() { rustls::Side::Client } else { rustls::Side::Server };
        // A session is started only after `CryptoConfig::initial_keys` has succeeded.
        let suite = initial().expect("the listener has created the keys").suite;
        keys(suite.keys(id, side, Version::V1))
    }

    /// Returns [`TlsFacts`]; `None` before a server is selected.
    fn handshake_data(&self) -> Option<Box<dyn Any>> {
        let server = self.server()?;
        let offer = self.offer.clone();
        Some(Box::new(TlsFacts { offer, ..TlsFacts::of_common(server, server.server_name()) }))
    }

    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        None
    }

    fn early_crypto(&self) -> Option<(Box<dyn HeaderKey>, Box<dyn PacketKey>)> {
        let keys = self.server()?.zero_rtt_keys()?;
        Some((Box::new(keys.header), Box::new(keys.packet)))
    }

    fn early_data_accepted(&self) -> Option<bool> {
        None
    }

    fn is_handshaking(&self) -> bool {
        self.server().is_none_or(|server| server.is_handshaking())
    }

    fn read_handshake(&mut self, bytes: &[u8]) -> Result<bool, TransportError> {
        let QuicHandshakeState::Hello { bytes: hello, parameters, choose: chooser } = &mut self.state else {
            return self.read_server(bytes).map(|()| false);
        };
        hello.extend_from_slice(bytes);
        if !is_whole(hello)? {
            return Ok(false);
        }
        let (config, offer) = choose(hello, &**chooser)?;
        self.offer = offer;
        let server = ServerConnection::new(config, Version::V1, std::mem::take(parameters))
            .map_err(|error| alert(INTERNAL_ERROR, error.to_string()))?;
        let hello = std::mem::take(hello);
        self.state = QuicHandshakeState::Server(Box::new(server));
        self.read_server(&hello).map(|()| true)
    }

    fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
        let Some(bytes) = self.server().and_then(|server| server.quic_transport_parameters()) else {
            return Ok(None);
        };
        Ok(Some(TransportParameters::read(Side::Server, &mut Cursor::new(bytes))?))
    }

    fn write_handshake(&mut self, out: &mut Vec<u8>) -> Option<Keys> {
        let QuicHandshakeState::Server(server) = &mut self.state else { return None };
        match server.write_hs(out)? {
            KeyChange::Handshake { keys: new } => {
                let mut keys = keys(new);
                keys.packet.remote = self.proof.wrap_key(keys.packet.remote);
                Some(keys)
            }
            KeyChange::OneRtt { keys: new, next } => {
                self.next = Some(next);
                Some(keys(new))
            }
        }
    }

    fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn PacketKey>>> {
        let keys = self.next.as_mut()?.next_packet_keys();
        Some(KeyPair { local: Box::new(keys.local), remote: Box::new(keys.remote) })
    }

    /// Always returns false. Never called, because only clients receive Retry packets.
    fn is_valid_retry(&self, _: &ConnectionId, _: &[u8], _: &[u8]) -> bool {
        false
    }

    /// Always returns an error, because exporting keying material is not supported.
    fn export_keying_material(
        &self,
        _: &mut [u8],
        _: &[u8],
        _: &[u8],
    ) -> Result<(), ExportKeyingMaterialError> {
        Err(ExportKeyingMaterialError)
    }
}

fn keys(keys: rustls::quic::Keys) -> Keys {
    Keys {
        header: KeyPair { local: Box::new(keys.local.header), remote: Box::new(keys.remote.header) },
        packet: KeyPair { local: Box::new(keys.local.packet), remote: Box::new(keys.remote.packet) },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct NoServer;

    impl ChooseTls for NoServer {
        fn choose(&self, _: &ClientHello<'_>) -> Result<Arc<rustls::ServerConfig>, Refusal> {
            Err(Refusal::UnrecognizedName)
        }

        fn stores_offers(&self) -> bool {
            false
        }
    }

    #[test]
    fn retry_of_the_rfc_has_its_tag() {
        // RFC 9001 section A.4.
        let original = ConnectionId::new(&[0x83, 0x94, 0xc8, 0xf0, 0x3e, 0x51, 0x57, 0x08]);
        let packet = b"\xff\0\0\0\x01\0\x08\xf0\x67\xa5\x50\x2a\x42\x62\xb5token";
        let tag = QuicServerCrypto::new(Arc::new(NoServer), AddressProof::default())
            .retry_tag(VERSION, &original, packet);
        let expected = b"\x04\xa2\x65\xba\x2e\xff\x4d\x82\x90\x58\xfb\x3f\x0f\x24\x96\xba";
        assert_eq!(&tag, expected);
    }

    fn read(hello: &[&[u8]]) -> Option<TransportErrorCode> {
        let state = QuicHandshakeState::Hello {
            bytes: Vec::new(),
            parameters: Vec::new(),
            choose: Arc::new(NoServer),
        };
        let mut handshake = QuicHandshake { state, next: None, offer: None, proof: AddressProof::default() };
        hello.iter().find_map(|piece| handshake.read_handshake(piece).err()).map(|error| error.code)
    }

    #[test]
    fn what_is_no_hello_is_refused() {
        assert_eq!(read(&[&[1, 0, 0, 5, 1, 2]]), None);
        assert_eq!(read(&[&[1, 0, 0, 2], &[1, 2]]), Some(TransportErrorCode::crypto(DECODE_ERROR)));
        assert_eq!(read(&[&[2, 0, 0, 2, 1, 2]]), Some(TransportErrorCode::crypto(DECODE_ERROR)));
        assert_eq!(read(&[&[1, 1, 0, 0]]), Some(TransportErrorCode::crypto(DECODE_ERROR)));
    }
}
