//! `ssl_*`: TLS settings of a server.

use crate::text::Text;

/// `ssl_session_cache`: cache of sessions that clients may resume.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum SessionCache {
    /// `off`, `none`: no sessions are stored.
    #[default]
    Off,
    /// `builtin`, `shared`.
    Stored {
        /// Name; servers that use the same name share the cache.
        name: String,
        /// Maximum number of sessions: 4000 per megabyte, as in nginx.
        sessions: u32,
    },
}

/// `ssl_verify_client`: requirements for client certificates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum VerifyClient {
    /// No certificate is requested.
    #[default]
    Off,
    /// A trusted certificate is required.
    On,
    /// A certificate is optional, but must be trusted if sent.
    Optional,
    /// A certificate is optional, and its issuer is not checked.
    OptionalNoCa,
}

/// `ssl_ocsp`: client certificates whose revocation status is queried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OcspCheck {
    /// None.
    #[default]
    Off,
    /// All certificates except the root.
    Chain,
    /// Only the certificate of the client.
    Leaf,
}

/// `ssl_ocsp_cache`: cache of OCSP responses about clients, shared by all workers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OcspCache {
    /// Name.
    pub name: String,
    /// Maximum number of responses.
    pub entries: u32,
}

/// `ssl_certificate_cache`, `proxy_ssl_certificate_cache`. Times are in ms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CertificateCache {
    /// Maximum number of cached certificates and keys.
    pub max: u32,
    /// Time after which an unused entry expires.
    pub inactive: u64,
    /// Time after which an entry is validated again.
    pub valid: u64,
}

/// `ssl_*` settings of a level.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TlsSettings {
    /// `ssl`: every `listen` of the server uses TLS.
    pub on: bool,
    /// `ssl_certificate`: files with PEM certificates, each followed by its chain.
    pub certificates: Vec<Text>,
    /// `ssl_certificate_key`: files of PEM keys, in the order of the certificates.
    pub keys: Vec<Text>,
    /// `ssl_password_file`: passwords of encrypted keys, one per line.
    pub password_file: Option<Text>,
    /// `ssl_protocols` includes TLS 1.2.
    pub tls12: bool,
    /// `ssl_protocols` includes TLS 1.3.
    pub tls13: bool,
    /// `ssl_ciphers` in OpenSSL's notation; only for TLS 1.2.
    pub ciphers: Option<Text>,
    /// `ssl_prefer_server_ciphers`; `None` if not set.
    pub prefer_server_ciphers: Option<bool>,
    /// `ssl_ecdh_curve`; `None` for `auto`.
    pub curves: Option<Text>,
    /// `ssl_session_cache`.
    pub session_cache: SessionCache,
    /// `ssl_session_timeout`, in milliseconds.
    pub session_timeout: u64,
    /// `ssl_session_tickets`.
    pub session_tickets: bool,
    /// `ssl_buffer_size`, in bytes; `None` if not set.
    pub buffer_size: Option<u64>,
    /// `ssl_reject_handshake`.
    pub reject_handshake: bool,
    /// `ssl_verify_client`.
    pub verify_client: VerifyClient,
    /// `ssl_verify_depth`.
    pub verify_depth: u32,
    /// `ssl_client_certificate`: file with certificate authorities whose names are sent to clients.
    pub client_certificate: Option<Text>,
    /// `ssl_trusted_certificate`: file with certificate authorities whose names are not sent to clients.
    pub trusted_certificate: Option<Text>,
    /// `ssl_crl`: file with revocation lists.
    pub crl: Option<Text>,
    /// `ssl_ocsp`.
    pub ocsp: OcspCheck,
    /// `ssl_ocsp_responder`: a URL.
    pub ocsp_responder: Option<Text>,
    /// `ssl_ocsp_cache`; `None` for `off`.
    pub ocsp_cache: Option<OcspCache>,
    /// `ssl_dhparam`: file that is read, as in nginx, but not used.
    pub dhparam: Option<Text>,
    /// `ssl_session_ticket_key`: files of 48 or 80 bytes. The first is used for encryption.
    pub ticket_keys: Vec<Text>,
    /// `ssl_stapling`.
    pub stapling: bool,
    /// `ssl_stapling_file`: OCSP response in DER.
    pub stapling_file: Option<Text>,
    /// `ssl_stapling_responder`: a URL.
    pub stapling_responder: Option<Text>,
    /// `ssl_stapling_verify`.
    pub stapling_verify: bool,
    /// `ssl_early_data`.
    pub early_data: bool,
    /// `ssl_certificate_compression`.
    pub certificate_compression: bool,
    /// `ssl_certificate_cache`; `None` for `off`.
    pub certificate_cache: Option<CertificateCache>,
    /// `ssl_conf_command`: name and value of an OpenSSL command.
    pub commands: Vec<(Text, Text)>,
}
