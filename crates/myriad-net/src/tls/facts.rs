//! What a handshake came to, for `$ssl_*`.

use rustls::crypto::SupportedKxGroup;
use rustls::pki_types::CertificateDer;
use rustls::{CipherSuite, CommonState, HandshakeKind, NamedGroup, ProtocolVersion, ServerConnection};

/// What client and server agreed on.
#[derive(Debug)]
pub struct TlsFacts {
    /// The name that the client asked for (`$ssl_server_name`).
    pub server_name: Option<Box<str>>,
    /// `TLSv1.2`, `TLSv1.3` (`$ssl_protocol`).
    pub protocol: &'static str,
    /// The cipher suite, under OpenSSL's name (`$ssl_cipher`).
    pub cipher: Box<str>,
    /// The key exchange group, under OpenSSL's name (`$ssl_curve`); empty where none was used.
    pub curve: Box<str>,
    /// The protocol chosen by ALPN (`$ssl_alpn_protocol`); empty for none.
    pub alpn: Box<[u8]>,
    /// Whether an earlier session was resumed (`$ssl_session_reused`).
    pub resumed: bool,
    /// The client's certificates, its own first (`$ssl_client_cert`).
    pub certificates: Vec<CertificateDer<'static>>,
}

impl TlsFacts {
    /// What a usual client would agree on, for a connection that nobody is on.
    pub(crate) fn imagined() -> Self {
        Self {
            server_name: None,
            protocol: "TLSv1.3",
            cipher: "TLS_AES_256_GCM_SHA384".into(),
            curve: "X25519".into(),
            alpn: Box::default(),
            resumed: false,
            certificates: Vec::new(),
        }
    }

    pub(super) fn of(session: &ServerConnection) -> Self {
        Self::of_common(session, session.server_name())
    }

    /// The same of what sessions over TCP and over QUIC have in common.
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
            cipher: suite.map_or_else(Box::default, cipher_name),
            curve: group.map_or_else(Box::default, curve_name),
            alpn: session.alpn_protocol().unwrap_or_default().into(),
            resumed: session.handshake_kind() == Some(HandshakeKind::Resumed),
            certificates: session
                .peer_certificates()
                .unwrap_or_default()
                .iter()
                .map(|certificate| certificate.clone().into_owned())
                .collect(),
        }
    }
}

/// OpenSSL keeps the IANA names of TLS 1.3 and has its own for what came before.
fn cipher_name(suite: CipherSuite) -> Box<str> {
    match suite {
        CipherSuite::TLS13_AES_128_GCM_SHA256 => "TLS_AES_128_GCM_SHA256".into(),
        CipherSuite::TLS13_AES_256_GCM_SHA384 => "TLS_AES_256_GCM_SHA384".into(),
        CipherSuite::TLS13_CHACHA20_POLY1305_SHA256 => "TLS_CHACHA20_POLY1305_SHA256".into(),
        CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256 => "ECDHE-ECDSA-AES128-GCM-SHA256".into(),
        CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384 => "ECDHE-ECDSA-AES256-GCM-SHA384".into(),
        CipherSuite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256 => "ECDHE-ECDSA-CHACHA20-POLY1305".into(),
        CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 => "ECDHE-RSA-AES128-GCM-SHA256".into(),
        CipherSuite::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384 => "ECDHE-RSA-AES256-GCM-SHA384".into(),
        CipherSuite::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256 => "ECDHE-RSA-CHACHA20-POLY1305".into(),
        other => other.as_str().unwrap_or_default().into(),
    }
}

fn curve_name(group: NamedGroup) -> Box<str> {
    match group {
        NamedGroup::secp256r1 => "prime256v1".into(),
        group => group.as_str().map_or_else(|| format!("{group:?}").into(), Into::into),
    }
}
