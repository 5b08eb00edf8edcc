//! Tests of a session over a socket that accepts no bytes for a while.

use std::io::{IoSlice, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use rustls::server::ResolvesServerCert;
use rustls::sign::CertifiedKey;
use rustls::{
    ClientConfig, ClientConnection, DigitallySignedStruct, Error, ServerConfig, ServerConnection,
    SignatureScheme,
};

use super::TlsSession;
use crate::socket::ClientSocket;

/// Start of an Ed25519 key in PKCS #8 (RFC 8410 section 7), before the 32 bytes of the key.
const KEY_BEGINS: [u8; 16] = [48, 46, 2, 1, 0, 48, 5, 6, 3, 43, 101, 112, 4, 34, 4, 32];

/// Accepts any certificate.
#[derive(Debug)]
struct Trusting;

impl ServerCertVerifier for Trusting {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ED25519]
    }
}

#[derive(Debug)]
struct Always(Arc<CertifiedKey>);

impl ResolvesServerCert for Always {
    fn resolve(&self, _: rustls::server::ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.0))
    }
}

fn server(provider: &Arc<CryptoProvider>) -> ServerConnection {
    let key = PrivatePkcs8KeyDer::from([&KEY_BEGINS[..], &[7; 32]].concat());
    let key = provider.key_provider.load_private_key(key.into()).unwrap();
    let identity = CertifiedKey::new(vec![CertificateDer::from(vec![1])], key);
    let config = ServerConfig::builder_with_provider(Arc::clone(provider))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(Always(Arc::new(identity))));
    ServerConnection::new(Arc::new(config)).unwrap()
}

fn client(provider: &Arc<CryptoProvider>) -> ClientConnection {
    let config = ClientConfig::builder_with_provider(Arc::clone(provider))
        .with_safe_default_protocol_versions()
        .unwrap()
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Trusting))
        .with_no_client_auth();
    ClientConnection::new(Arc::new(config), "one.test".try_into().unwrap()).unwrap()
}

/// Returns both ends of a session after a handshake in memory.
fn session() -> (ServerConnection, ClientConnection) {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let (mut server, mut client) = (server(&provider), client(&provider));
    while server.is_handshaking() || client.is_handshaking() || server.wants_write() {
        let mut wire = Vec::new();
        while client.wants_write() {
            client.write_tls(&mut wire).unwrap();
        }
        let mut bytes = &wire[..];
        while !bytes.is_empty() {
            server.read_tls(&mut bytes).unwrap();
            server.process_new_packets().unwrap();
        }
        let mut wire = Vec::new();
        while server.wants_write() {
            server.write_tls(&mut wire).unwrap();
        }
        let mut bytes = &wire[..];
        while !bytes.is_empty() {
            client.read_tls(&mut bytes).unwrap();
            client.process_new_packets().unwrap();
        }
    }
    (server, client)
}

/// Fills the buffer of a socket with bytes outside the session. Returns their number.
fn fill(mut socket: &UnixStream) -> usize {
    let mut count = 0;
    for size in [4096, 1] {
        while let Ok(written) = socket.write(&vec![0; size]) {
            count += written;
        }
    }
    count
}

#[test]
fn what_is_written_ahead_to_a_full_socket_takes_nothing_from_the_next_write() {
    let (server, mut client) = session();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (near, mut far) = UnixStream::pair().unwrap();
    near.set_nonblocking(true).unwrap();
    let filler = fill(&near);
    runtime.block_on(async {
        let socket = ClientSocket::new(near.into());
        socket.set_tls_session(TlsSession::new(server, true));
        let ahead = (&socket).write(b"interim ");
        far.read_exact(&mut vec![0; filler]).unwrap();
        let mut rest: &[u8] = b"answer";
        while !rest.is_empty() {
            let write = std::future::poll_fn(|cx| socket.poll_write(cx, &[IoSlice::new(rest)]));
            rest = &rest[write.await.unwrap()..];
        }
        let mut text = [0; 64];
        let mut count = 0;
        while !text[..count].ends_with(b"answer") {
            client.read_tls(&mut far).unwrap();
            client.process_new_packets().unwrap();
            count += client.reader().read(&mut text[count..]).unwrap_or(0);
        }
        let expected: &[u8] = if ahead.is_ok() { b"interim answer" } else { b"answer" };
        assert_eq!(&text[..count], expected);
    });
}
