//! Performs TLS 1.3 handshakes, one after another in each thread, and prints their number.
//!
//! `tls-load PORT full|resumed SECONDS THREADS` connects to 127.0.0.1:PORT, performs a handshake, sends close_notify, reads until
//! the connection is closed, and repeats this. Every handshake uses TLS_AES_128_GCM_SHA256 and X25519, so that all servers are
//! measured with the same suite and group. With `full` no session is resumed. With `resumed` every thread uses the tickets that
//! it has received, and a handshake that is not resumed counts as failed.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{ClientSessionStore, Resumption, Tls12ClientSessionValue, Tls13ClientSessionValue};
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    ClientConfig, ClientConnection, DigitallySignedStruct, Error, HandshakeKind, NamedGroup, SignatureScheme,
};

fn main() -> io::Result<()> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, port, mode, seconds, threads] = &arguments[..] else {
        return Err(io::Error::other("usage: tls-load PORT full|resumed SECONDS THREADS"));
    };
    let port: u16 = port.parse().map_err(io::Error::other)?;
    let seconds: f64 = seconds.parse().map_err(io::Error::other)?;
    let threads: usize = threads.parse().map_err(io::Error::other)?;
    let resumes = mode == "resumed";
    let start = Instant::now();
    let end = start + Duration::from_secs_f64(seconds);
    let workers: Vec<_> = (0..threads).map(|_| thread::spawn(move || load(port, resumes, end))).collect();
    let mut total = Count::default();
    for worker in workers {
        let count = worker.join().map_err(|_| io::Error::other("a thread panicked"))?;
        total.done += count.done;
        total.failed += count.failed;
    }
    let took = start.elapsed().as_secs_f64();
    println!("{{\"handshakes\": {}, \"failed\": {}, \"seconds\": {took:.4}}}", total.done, total.failed);
    Ok(())
}

#[derive(Default)]
struct Count {
    done: u64,
    failed: u64,
}

fn load(port: u16, resumes: bool, end: Instant) -> Count {
    let mut count = Count::default();
    let Ok(config) = config(resumes) else { return Count { done: 0, failed: 1 } };
    if resumes && shake(port, &config).is_err() {
        count.failed += 1;
    }
    while Instant::now() < end {
        match shake(port, &config) {
            Ok(HandshakeKind::Resumed) if resumes => count.done += 1,
            Ok(HandshakeKind::Full) if !resumes => count.done += 1,
            _ => count.failed += 1,
        }
    }
    count
}

fn shake(port: u16, config: &Arc<ClientConfig>) -> io::Result<HandshakeKind> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_nodelay(true)?;
    let name = ServerName::try_from("bench.test").map_err(io::Error::other)?;
    let mut tls = ClientConnection::new(Arc::clone(config), name).map_err(io::Error::other)?;
    while tls.is_handshaking() {
        tls.complete_io(&mut stream)?;
    }
    let kind = tls.handshake_kind().ok_or(io::ErrorKind::InvalidData)?;
    tls.send_close_notify();
    while tls.wants_write() {
        tls.write_tls(&mut stream)?;
    }
    stream.flush()?;
    // The server sends tickets before it closes.
    while let Ok(1..) = tls.read_tls(&mut stream) {
        tls.process_new_packets().map_err(io::Error::other)?;
        let _ = tls.reader().read(&mut [0; 1024]);
    }
    Ok(kind)
}

fn config(resumes: bool) -> Result<Arc<ClientConfig>, Error> {
    let mut provider: CryptoProvider = aws_lc_rs::default_provider();
    provider.cipher_suites = vec![aws_lc_rs::cipher_suite::TLS13_AES_128_GCM_SHA256];
    provider.kx_groups.retain(|group| group.name() == NamedGroup::X25519);
    let mut config = ClientConfig::builder_with_provider(Arc::new(provider))
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Trusting))
        .with_no_client_auth();
    config.resumption =
        if resumes { Resumption::store(Arc::new(Tickets::default())) } else { Resumption::disabled() };
    Ok(Arc::new(config))
}

/// Accepts any certificate: the client is not measured.
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
        vec![SignatureScheme::ECDSA_NISTP256_SHA256, SignatureScheme::RSA_PSS_SHA256]
    }
}

/// Stores tickets. Each ticket is used once; every handshake delivers at least one more.
#[derive(Debug, Default)]
struct Tickets(Mutex<Vec<Tls13ClientSessionValue>>);

/// Maximum number of stored tickets.
const KEPT: usize = 8;

impl ClientSessionStore for Tickets {
    fn set_kx_hint(&self, _: ServerName<'static>, _: NamedGroup) {}

    fn kx_hint(&self, _: &ServerName<'_>) -> Option<NamedGroup> {
        None
    }

    fn set_tls12_session(&self, _: ServerName<'static>, _: Tls12ClientSessionValue) {}

    fn tls12_session(&self, _: &ServerName<'_>) -> Option<Tls12ClientSessionValue> {
        None
    }

    fn remove_tls12_session(&self, _: &ServerName<'static>) {}

    fn insert_tls13_ticket(&self, _: ServerName<'static>, value: Tls13ClientSessionValue) {
        if let Ok(mut tickets) = self.0.lock()
            && tickets.len() < KEPT
        {
            tickets.push(value);
        }
    }

    fn take_tls13_ticket(&self, _: &ServerName<'static>) -> Option<Tls13ClientSessionValue> {
        self.0.lock().ok()?.pop()
    }
}
