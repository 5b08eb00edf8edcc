//! Properties of a TLS session, for the variables `$ssl_*`.

use std::cell::{Cell, RefCell};

use rustls::crypto::SupportedKxGroup;
use rustls::pki_types::CertificateDer;
use rustls::{
    CipherSuite, CommonState, HandshakeKind, NamedGroup, ProtocolVersion, ServerConnection, SignatureScheme,
};

use super::names;

/// Properties negotiated in a TLS handshake.
#[derive(Debug)]
pub struct TlsFacts {
    /// Server name requested by the client (`$ssl_server_name`); `None` if it requested none.
    pub server_name: Option<Box<str>>,
    /// Protocol version: `TLSv1.2` or `TLSv1.3` (`$ssl_protocol`).
    pub protocol: &'static str,
    /// OpenSSL's name of the cipher suite (`$ssl_cipher`).
    pub cipher: Box<str>,
    /// OpenSSL's name of the key exchange group (`$ssl_curve`); empty if no group was used.
    pub curve: Box<str>,
    /// Protocol chosen by ALPN (`$ssl_alpn_protocol`); empty for none.
    pub alpn: Box<[u8]>,
    /// Set if an earlier session was resumed (`$ssl_session_reused`).
    pub resumed: bool,
    /// Certificate chain sent by the client, the client certificate first (`$ssl_client_cert`); empty if there is none.
    pub certificates: Vec<CertificateDer<'static>>,
    /// Cached result of the service's verification of `certificates`; `None` before the first verification.
    pub judged: Cell<Option<CachedVerifyResult>>,
    /// Values that the service has extracted from the client's certificate.
    pub readings: CertificateValues,
    /// Offers of the client hello for variables such as `$ssl_ciphers`; `None` if the service does not need them.
    pub offer: Option<Box<ClientOffer>>,
}

/// Result of a certificate verification: `Err` contains OpenSSL's error number and text.
pub type VerifyResult = Result<(), (u32, &'static str)>;

/// Cached result of the verification of a client's certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CachedVerifyResult {
    /// Identifier of the verification rules that gave the result.
    pub rules: u64,
    /// Last second at which the result is valid, in seconds since the Unix epoch.
    pub until_s: i64,
    /// Cached result: `Ok`, or the error number and text.
    pub judgement: VerifyResult,
}

/// Cache of values extracted from a client's certificate, by names that the service chooses. Values beyond
/// `MAX_STORED_BYTES` in total are not cached.
#[derive(Debug, Default)]
pub struct CertificateValues(RefCell<Vec<(&'static str, Box<str>)>>);

/// Maximum total number of bytes of the values cached for a certificate.
const MAX_STORED_BYTES: usize = 32 << 10;

impl CertificateValues {
    /// Calls `show` with the value called `name`; if it is not cached, `read` computes it.
    pub fn with<T>(
        &self,
        name: &'static str,
        read: impl FnOnce() -> String,
        show: impl FnOnce(&str) -> T,
    ) -> T {
        if let Some((_, known)) = self.0.borrow().iter().find(|(known, _)| *known == name) {
            return show(known);
        }
        let made = read();
        let shown = show(&made);
        let mut stored = self.0.borrow_mut();
        if stored.iter().map(|(_, text)| text.len()).sum::<usize>() + made.len() <= MAX_STORED_BYTES {
            stored.push((name, made.into()));
        }
        shown
    }
}

/// Offers of a client hello, and the selected signature schemes.
#[derive(Clone, Debug, Default)]
pub struct ClientOffer {
    /// Offered cipher suites (`$ssl_ciphers`).
    pub ciphers: Vec<CipherSuite>,
    /// Offered groups (`$ssl_curves`).
    pub groups: Vec<NamedGroup>,
    /// Offered signature schemes (`$ssl_sigalgs`).
    pub schemes: Vec<SignatureScheme>,
    /// Signature scheme with which the server signs a full handshake (`$ssl_sigalg`); `None` if no certificate is
    /// selected or its key supports no offered scheme.
    pub signed: Option<SignatureScheme>,
    /// Signature scheme of the client's certificate (`$ssl_client_sigalg`); `None` without a certificate.
    pub client_signed: Option<SignatureScheme>,
    /// ID of the session (`$ssl_session_id`). A resumed session over TCP has the same ID as before.
    pub session: Vec<u8>,
}

impl TlsFacts {
    /// Returns typical properties (TLS 1.3), for a connection without a client.
    pub fn typical() -> Self {
        Self {
            server_name: None,
            protocol: "TLSv1.3",
            cipher: "TLS_AES_256_GCM_SHA384".into(),
            curve: "X25519".into(),
            alpn: Box::default(),
            resumed: false,
            certificates: Vec::new(),
            judged: Cell::new(None),
            readings: CertificateValues::default(),
            offer: None,
        }
    }

    pub(super) fn of(session: &ServerConnection, offer: Option<Box<ClientOffer>>) -> Self {
        Self { offer, ..Self::of_common(session, session.server_name()) }
    }

    /// Returns the properties that TCP and QUIC sessions have in common.
    pub(crate) fn of_common(session: &CommonState, server_name: Option<&str>) -> Self {
        let suite = session.negotiated_cipher_suite().map(|suite| suite.suite());
        let group = session.negotiated_key_exchange_group().map(SupportedKxGroup::name);
        Self {
            server_name: server_name.map(Into::into),
            protocol: match session.protocol_version() {
                Some(ProtocolVersion::TLSv1_3) => "TLSv1.3",
                Some(ProtocolVersion::TLSv1_2) => "TLSv1.2",
                _ => "",
            },
            cipher: suite.map_or_else(Box::default, names::cipher),
            curve: group.map_or_else(Box::default, names::group),
            alpn: session.alpn_protocol().unwrap_or_default().into(),
            resumed: session.handshake_kind() == Some(HandshakeKind::Resumed),
            certificates: session
                .peer_certificates()
                .unwrap_or_default()
                .iter()
                .map(|certificate| certificate.clone().into_owned())
                .collect(),
            judged: Cell::new(None),
            readings: CertificateValues::default(),
            offer: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_is_read_once_unless_that_takes_too_much_room() {
        let readings = CertificateValues::default();
        let made = Cell::new(0);
        let ask = |name: &'static str, length: usize| {
            let read = || {
                made.set(made.get() + 1);
                "x".repeat(length)
            };
            readings.with(name, read, str::len)
        };
        for (name, length, expected) in [
            ("a", 9, 1),
            ("a", 9, 1),
            ("b", 0, 2),
            ("b", 0, 2),
            ("c", MAX_STORED_BYTES, 3),
            ("c", MAX_STORED_BYTES, 4),
            ("a", 9, 4),
        ] {
            assert_eq!(ask(name, length), length);
            assert_eq!(made.get(), expected, "{name}");
        }
    }
}
