//! What a handshake came to, for `$ssl_*`.

use std::cell::{Cell, RefCell};

use rustls::crypto::SupportedKxGroup;
use rustls::pki_types::CertificateDer;
use rustls::{
    CipherSuite, CommonState, HandshakeKind, NamedGroup, ProtocolVersion, ServerConnection, SignatureScheme,
};

use super::names;

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
    /// What the service thinks of them.
    pub judged: Cell<Option<Judged>>,
    /// What the service has read in the client's own.
    pub readings: Readings,
    /// What the hello offered, where the service asks for it.
    pub offer: Option<Box<Offer>>,
}

/// A verdict on certificates: what is wrong, by number and words.
pub type Judgement = Result<(), (u32, &'static str)>;

/// What was thought of certificates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Judged {
    /// The rules by which.
    pub rules: u64,
    /// The last second at which that holds, since the Unix epoch.
    pub until_s: i64,
    /// The verdict.
    pub judgement: Judgement,
}

/// What the service has read in a client's certificate, by names of its own: a connection reads it once, however often it
/// is asked. What is too long to be kept is read again.
#[derive(Debug, Default)]
pub struct Readings(RefCell<Vec<(&'static str, Box<str>)>>);

/// Bytes that are kept of readings.
const MOST_KEPT: usize = 32 << 10;

impl Readings {
    /// Uses a reading, which is made where it is not known yet.
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
        let mut kept = self.0.borrow_mut();
        if kept.iter().map(|(_, text)| text.len()).sum::<usize>() + made.len() <= MOST_KEPT {
            kept.push((name, made.into()));
        }
        shown
    }
}

/// What a hello offered, and what came of it.
#[derive(Clone, Debug, Default)]
pub struct Offer {
    /// Cipher suites (`$ssl_ciphers`).
    pub ciphers: Vec<CipherSuite>,
    /// Groups (`$ssl_curves`).
    pub groups: Vec<NamedGroup>,
    /// Ways of signing (`$ssl_sigalgs`).
    pub schemes: Vec<SignatureScheme>,
    /// The way in which the server has signed (`$ssl_sigalg`).
    pub signed: Option<SignatureScheme>,
    /// The way in which the client has signed (`$ssl_client_sigalg`).
    pub client_signed: Option<SignatureScheme>,
    /// A number of the session's, the same whenever it is resumed (`$ssl_session_id`).
    pub session: Vec<u8>,
}

impl TlsFacts {
    /// What a usual client would agree on, for a connection that nobody is on: TLS 1.3.
    pub fn imagined() -> Self {
        Self {
            server_name: None,
            protocol: "TLSv1.3",
            cipher: "TLS_AES_256_GCM_SHA384".into(),
            curve: "X25519".into(),
            alpn: Box::default(),
            resumed: false,
            certificates: Vec::new(),
            judged: Cell::new(None),
            readings: Readings::default(),
            offer: None,
        }
    }

    pub(super) fn of(session: &ServerConnection, offer: Option<Box<Offer>>) -> Self {
        Self { offer, ..Self::of_common(session, session.server_name()) }
    }

    /// The facts that sessions over TCP and over QUIC have in common.
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
            readings: Readings::default(),
            offer: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_is_read_once_unless_that_takes_too_much_room() {
        let readings = Readings::default();
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
            ("c", MOST_KEPT, 3),
            ("c", MOST_KEPT, 4),
            ("a", 9, 4),
        ] {
            assert_eq!(ask(name, length), length);
            assert_eq!(made.get(), expected, "{name}");
        }
    }
}
