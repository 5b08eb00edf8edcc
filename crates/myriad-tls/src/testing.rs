//! Test helpers: configurations with their files, certificates, and handshakes in memory.

use std::path::Path;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::acme_client::{SigningKey, csr};
use crate::x509::pem;
use myriad_conf::model::{AcmeIdentifier, AcmeKeyKind, HttpConf, ServerConf};
use myriad_conf::settings::TlsSettings;
use myriad_conf::{Diagnostic, MemoryLoader, Model, survey};
use parking_lot::Mutex;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    ClientConfig, ClientConnection, Connection, DigitallySignedStruct, Error, ServerConfig, ServerConnection,
    SignatureScheme, SupportedProtocolVersion,
};

use crate::certificates::files::{TlsFileReader, TlsFiles};
use crate::resume::reload_state::TlsReloadState;
use crate::server::config::server_config;
use crate::server::parts::ServerParts;

/// Folder of the test configurations.
pub(crate) const FOLDER: &str = "/conf";

/// Returns the current time in seconds since the Unix epoch.
pub(crate) fn now_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock").as_secs()
}

/// Self-signed certificate and its key, both in PEM.
pub(crate) struct TestCertificate {
    pub(crate) certificate: Vec<u8>,
    pub(crate) key: Vec<u8>,
}

impl TestCertificate {
    /// Creates a certificate for a host name, valid from yesterday to tomorrow.
    pub(crate) fn of(kind: AcmeKeyKind, name: &str) -> Self {
        Self::at(kind, name, now_s())
    }

    /// Creates a certificate for a host name, valid from one day before to one day after `at_s` (seconds since the Unix
    /// epoch).
    pub(crate) fn at(kind: AcmeKeyKind, name: &str, at_s: u64) -> Self {
        Self::with(&SigningKey::generate(kind).expect("a key"), name, at_s)
    }

    /// Creates a certificate for a host name with an existing key, valid from one day before to one day after `at_s`
    /// (seconds since the Unix epoch).
    pub(crate) fn with(key: &SigningKey, name: &str, at_s: u64) -> Self {
        let names = [AcmeIdentifier::Dns(name.to_owned())];
        let der = csr::self_signed(key, &names, at_s, 1).expect("a certificate");
        Self {
            certificate: pem::block("CERTIFICATE", &der).into_bytes(),
            key: key.to_pem().as_bytes().to_vec(),
        }
    }

    /// Creates a certificate for `a.test` with an ECDSA key, valid from yesterday to tomorrow.
    pub(crate) fn usual() -> Self {
        Self::of(AcmeKeyKind::P256, "a.test")
    }

    /// Returns the certificate followed by its key, in PEM.
    pub(crate) fn both(&self) -> Vec<u8> {
        [&self.certificate[..], &self.key].concat()
    }
}

/// Returns the decoded content of the first PEM block of a text.
pub(crate) fn der(text: &[u8]) -> Vec<u8> {
    pem::blocks(text).next().expect("a block").expect("whole").bytes().expect("base64")
}

/// Parsed test configuration, and the contents of its files by path.
pub(crate) struct TestSite {
    pub(crate) model: Model,
    pub(crate) read: TlsFiles,
}

impl TestSite {
    /// Parses a configuration. `http` is the content of its `http` block; `files` are pairs of a file name, relative to
    /// [`FOLDER`], and the content of the file.
    pub(crate) fn of(http: &str, files: &[(&str, &[u8])]) -> Self {
        let path = Path::new(FOLDER).join("nginx.conf");
        let loader = MemoryLoader::with(&path, format!("events {{}} http {{ {http} }}"));
        let registry = myriad_conf::testing::registry();
        let survey = survey(&registry.parse(&loader, &path, b""), &registry);
        assert!(survey.findings.is_empty(), "{:?}", survey.findings);
        let read = files.iter().map(|(name, bytes)| (Path::new(FOLDER).join(name), bytes.to_vec())).collect();
        Self { model: survey.model, read }
    }

    /// Parses a configuration with one TLS server that has an ECDSA certificate and the additional directives `says`.
    /// `files` are pairs of a file name, relative to [`FOLDER`], and the content of the file.
    pub(crate) fn server(says: &str, files: &[(&str, &[u8])]) -> Self {
        let made = TestCertificate::usual();
        let own: [(&str, &[u8]); 2] = [("a.crt", &made.certificate), ("a.key", &made.key)];
        let http = format!(
            "server {{ listen 443 ssl; server_name a.test; ssl_certificate a.crt; ssl_certificate_key a.key; {says} }}"
        );
        Self::of(&http, &[&own[..], files].concat())
    }

    pub(crate) fn http(&self) -> &HttpConf {
        self.model.http.as_ref().expect("http")
    }

    pub(crate) fn first(&self) -> &ServerConf {
        &self.http().servers[0]
    }

    /// Returns the TLS settings of the first server.
    pub(crate) fn tls(&self) -> &TlsSettings {
        &self.first().settings.tls
    }

    pub(crate) fn files(&self) -> TlsFileReader<'_> {
        TlsFileReader { read: &self.read, folder: Path::new(FOLDER) }
    }

    pub(crate) fn parts(&self) -> ServerParts<'_> {
        ServerParts { settings: self.tls(), files: self.files(), ordered: None, staples: &[] }
    }

    /// Returns the rustls settings of the first server.
    pub(crate) fn config(&self) -> Result<Arc<ServerConfig>, Box<Diagnostic>> {
        server_config(&self.parts(), &mut TlsReloadState::default()).map(Arc::new)
    }

    /// Returns the message of the error in the first server's settings, followed by its help text.
    pub(crate) fn error(&self) -> String {
        let error = *self.config().unwrap_err();
        [vec![error.message], error.help].concat().join("; ")
    }
}

/// Verifier that accepts any server certificate and records it with the stapled OCSP response.
#[derive(Debug)]
struct RecordingVerifier {
    provider: CryptoProvider,
    shown: Arc<Mutex<(Vec<u8>, Vec<u8>)>>,
}

impl ServerCertVerifier for RecordingVerifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        ocsp: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        *self.shown.lock() = (certificate.to_vec(), ocsp.to_vec());
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// TLS client that stores sessions, so that it can resume them.
pub(crate) struct TestClient {
    pub(crate) config: ClientConfig,
    shown: Arc<Mutex<(Vec<u8>, Vec<u8>)>>,
}

impl TestClient {
    /// Creates a client that supports TLS 1.2 and 1.3.
    pub(crate) fn new() -> Self {
        Self::with_versions(rustls::ALL_VERSIONS)
    }

    pub(crate) fn with_versions(versions: &[&'static SupportedProtocolVersion]) -> Self {
        let provider = aws_lc_rs::default_provider();
        let shown = Arc::default();
        let watching = RecordingVerifier { provider: provider.clone(), shown: Arc::clone(&shown) };
        let config = ClientConfig::builder_with_provider(Arc::new(provider))
            .with_protocol_versions(versions)
            .expect("versions")
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(watching))
            .with_no_client_auth();
        Self { config, shown }
    }

    /// Performs a handshake in memory with a server that has these settings, and then transfers the messages that both
    /// sides send after it, such as session tickets.
    pub(crate) fn handshake(
        &self,
        server: &Arc<ServerConfig>,
    ) -> Result<(ClientConnection, ServerConnection), Error> {
        let name = ServerName::try_from("a.test").expect("a name");
        let mut client = Connection::from(ClientConnection::new(Arc::new(self.config.clone()), name)?);
        let mut server = Connection::from(ServerConnection::new(Arc::clone(server))?);
        while client.wants_write() || server.wants_write() {
            transfer(&mut client, &mut server)?;
            transfer(&mut server, &mut client)?;
        }
        match (client, server) {
            (Connection::Client(client), Connection::Server(server)) => Ok((client, server)),
            _ => unreachable!("one of each"),
        }
    }

    /// Returns the server's certificate and the stapled OCSP response of the last full handshake, both in DER; the
    /// response is empty if none was stapled.
    pub(crate) fn shown(&self) -> (Vec<u8>, Vec<u8>) {
        self.shown.lock().clone()
    }

    /// Returns true if a handshake with `second` resumes a session with `first`.
    pub(crate) fn resumes(&self, first: &Arc<ServerConfig>, second: &Arc<ServerConfig>) -> bool {
        self.handshake(first).expect("a handshake");
        let kind = self.handshake(second).expect("a handshake").0.handshake_kind();
        kind == Some(rustls::HandshakeKind::Resumed)
    }
}

fn transfer(from: &mut Connection, to: &mut Connection) -> Result<(), Error> {
    let mut bytes = Vec::new();
    while from.wants_write() {
        from.write_tls(&mut bytes).expect("memory");
    }
    let mut rest = &bytes[..];
    while !rest.is_empty() {
        to.read_tls(&mut rest).expect("memory");
        to.process_new_packets()?;
    }
    Ok(())
}
