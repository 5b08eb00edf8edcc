//! Settings for TLS connections of clients (`ssl_*`).

use std::borrow::Cow;

use crate::text::Text;

/// Prefix of a certificate or key that is written in the configuration itself instead of a file name.
pub const TLS_DATA: &[u8] = b"data:";

/// Returns the name of a certificate or key for messages. The text after `data:` is omitted, because it may be a key.
pub fn tls_display_name(name: &[u8]) -> Cow<'_, str> {
    if name.starts_with(TLS_DATA) { Cow::Borrowed("data:") } else { String::from_utf8_lossy(name) }
}

/// `ssl_session_cache`: cache of sessions that clients may resume.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum SessionCache {
    /// `off`, `none`: no sessions are stored.
    #[default]
    Off,
    /// `builtin` or `shared`: sessions are stored in memory.
    Stored {
        /// Name of the cache; servers that use the same name share it.
        name: String,
        /// Maximum number of sessions, at least 1: for `shared` 4000 per megabyte, as in nginx; for `builtin` the given
        /// number, or 20480.
        sessions: u32,
    },
}

/// `ssl_verify_client`: requirements for client certificates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum VerifyClient {
    /// `off`: no certificate is requested.
    #[default]
    Off,
    /// `on`: a trusted certificate is required.
    On,
    /// `optional`: a certificate is optional, but must be trusted if sent.
    Optional,
    /// `optional_no_ca`: a certificate is optional, and its issuer is not checked.
    OptionalNoCa,
}

/// `ssl_ocsp`: client certificates whose revocation status is queried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OcspCheck {
    /// `off`: no certificate is checked.
    #[default]
    Off,
    /// `on`: all certificates of the chain except the root.
    Chain,
    /// `leaf`: only the certificate of the client.
    Leaf,
}

/// `ssl_ocsp_cache`: cache of OCSP responses about clients, shared by all workers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OcspCache {
    /// Name of the cache; servers that use the same name share it.
    pub name: String,
    /// Maximum number of cached OCSP responses.
    pub entries: u32,
}

/// `ssl_certificate_cache` and `proxy_ssl_certificate_cache`: cache of certificates whose names contain variables.
/// Times are in ms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CertificateCache {
    /// Maximum number of cached certificates and keys.
    pub max: u32,
    /// Time without use in ms after which a certificate or key is removed when another one is added.
    pub inactive: u64,
    /// Time in ms for which a cached certificate or key is used before its file is checked or read again.
    pub valid: u64,
}

/// TLS settings of a level for clients.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TlsSettings {
    /// `ssl`: true if every `listen` of the server without `quic` uses TLS (QUIC always does).
    pub on: bool,
    /// `ssl_certificate`: files with a certificate and its chain, in PEM; a value may contain variables, or the PEM
    /// text after `data:`.
    pub certificates: Vec<Text>,
    /// `ssl_certificate_key`: files with keys in PEM, in the order of the certificates.
    pub keys: Vec<Text>,
    /// `ssl_password_file`: file with passwords of encrypted keys, one per line; `None` if not set.
    pub password_file: Option<Text>,
    /// True if `ssl_protocols` includes TLS 1.2.
    pub tls12: bool,
    /// True if `ssl_protocols` includes TLS 1.3.
    pub tls13: bool,
    /// `ssl_ciphers`: TLS 1.2 cipher suites in OpenSSL's notation; `None` for all.
    pub ciphers: Option<Text>,
    /// `ssl_prefer_server_ciphers`: true if the server's order of cipher suites applies; `None` if not set.
    pub prefer_server_ciphers: Option<bool>,
    /// `ssl_ecdh_curve`: key exchange groups; `None` for `auto`.
    pub curves: Option<Text>,
    /// `ssl_session_cache`: cache of sessions that clients may resume.
    pub session_cache: SessionCache,
    /// `ssl_session_timeout`: maximum age of a session that is resumed, in milliseconds.
    pub session_timeout: u64,
    /// `ssl_session_tickets`: true if clients receive session tickets.
    pub session_tickets: bool,
    /// `ssl_buffer_size`: maximum size of a TLS record in bytes; `None` for records of growing size.
    pub buffer_size: Option<u64>,
    /// `ssl_reject_handshake`: true if TLS handshakes for the server are rejected.
    pub reject_handshake: bool,
    /// `ssl_verify_client`: requirements for client certificates.
    pub verify_client: VerifyClient,
    /// `ssl_verify_depth`: maximum number of intermediate certificates of a client.
    pub verify_depth: u32,
    /// `ssl_client_certificate`: file with certificate authorities whose names are sent to clients; `None` if not set.
    pub client_certificate: Option<Text>,
    /// `ssl_trusted_certificate`: file with certificate authorities whose names are not sent to clients; `None` if not
    /// set.
    pub trusted_certificate: Option<Text>,
    /// `ssl_crl`: file with revocation lists for client certificates; `None` if not set.
    pub crl: Option<Text>,
    /// `ssl_ocsp`: client certificates that are checked for revocation.
    pub ocsp: OcspCheck,
    /// `ssl_ocsp_responder`: URL that replaces those in client certificates; `None` if not set.
    pub ocsp_responder: Option<Text>,
    /// `ssl_ocsp_cache`: cache of OCSP responses about clients; `None` for `off`.
    pub ocsp_cache: Option<OcspCache>,
    /// `ssl_dhparam`: file with Diffie-Hellman parameters, which is read, as in nginx, but not used; `None` if not set.
    pub dhparam: Option<Text>,
    /// `ssl_session_ticket_key`: files of 48 or 80 bytes. The first encrypts tickets, all of them decrypt.
    pub ticket_keys: Vec<Text>,
    /// `ssl_stapling`: true if OCSP responses about the server's certificates are sent to clients.
    pub stapling: bool,
    /// `ssl_stapling_file`: file with an OCSP response in DER, used for the first certificate if `ssl_stapling` is on;
    /// `None` if not set.
    pub stapling_file: Option<Text>,
    /// `ssl_stapling_responder`: URL of the OCSP responder for `ssl_stapling`, which replaces the one in the
    /// certificate; `None` if not set.
    pub stapling_responder: Option<Text>,
    /// `ssl_stapling_verify`: true if a fetched OCSP response must be signed by the issuer or by a responder that it
    /// has authorized; otherwise the signer may be any certificate in the response.
    pub stapling_verify: bool,
    /// `ssl_early_data`: true if TLS 1.3 early data is accepted.
    pub early_data: bool,
    /// `ssl_certificate_compression`: true if certificates are compressed (RFC 8879).
    pub certificate_compression: bool,
    /// `ssl_certificate_cache`: cache of certificates whose names contain variables; `None` for `off`.
    pub certificate_cache: Option<CertificateCache>,
    /// `ssl_conf_command`: names and values of OpenSSL commands; in a resolved server only those about cipher suites
    /// and groups, or unknown ones.
    pub commands: Vec<(Text, Text)>,
}
