//! `ssl_*`: how a server speaks TLS.

use crate::text::Text;

/// `ssl_session_cache`: where sessions are kept so that clients may resume them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum SessionCache {
    /// `off`, `none`: clients are told that no session is kept.
    #[default]
    Off,
    /// `builtin`, `shared`.
    Kept {
        /// Its name; servers that name the same one share it.
        name: String,
        /// So many sessions, by nginx's measure of 4000 a megabyte.
        sessions: u32,
    },
}

/// `ssl_verify_client`: whether clients are asked for a certificate, and what it must prove.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum VerifyClient {
    /// They are not asked.
    #[default]
    Off,
    /// They must show one that is trusted.
    On,
    /// They may show one; then it must be trusted.
    Optional,
    /// They may show one, and nobody needs to know who signed it.
    OptionalNoCa,
}

/// `ssl_ocsp`: which certificates of clients their authorities are asked about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AskOcsp {
    /// None.
    #[default]
    Off,
    /// All but the root.
    Chain,
    /// The client's own.
    Leaf,
}

/// `ssl_ocsp_cache`: where answers about clients are kept for all workers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OcspCache {
    /// Its name.
    pub name: String,
    /// Most answers.
    pub entries: u32,
}

/// `ssl_certificate_cache`, `proxy_ssl_certificate_cache`. Times in ms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CertificateCache {
    /// How many certificates and keys are remembered.
    pub max: u32,
    /// How long one is that nobody asks for.
    pub inactive: u64,
    /// How long one is believed.
    pub valid: u64,
}

/// `ssl_*` of a level.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TlsSettings {
    /// `ssl`: every `listen` of a server speaks TLS.
    pub on: bool,
    /// `ssl_certificate`: files of PEM certificates, each with its chain behind it.
    pub certificates: Vec<Text>,
    /// `ssl_certificate_key`: files of PEM keys, in the order of the certificates.
    pub keys: Vec<Text>,
    /// `ssl_password_file`: passwords of encrypted keys, a line each.
    pub password_file: Option<Text>,
    /// `ssl_protocols` names TLS 1.2.
    pub tls12: bool,
    /// `ssl_protocols` names TLS 1.3.
    pub tls13: bool,
    /// `ssl_ciphers`, in OpenSSL's words; for TLS 1.2 alone.
    pub ciphers: Option<Text>,
    /// `ssl_prefer_server_ciphers`; `None` where not written.
    pub prefer_server_ciphers: Option<bool>,
    /// `ssl_ecdh_curve`; none for `auto`.
    pub curves: Option<Text>,
    /// `ssl_session_cache`.
    pub session_cache: SessionCache,
    /// `ssl_session_timeout`, milliseconds.
    pub session_timeout: u64,
    /// `ssl_session_tickets`.
    pub session_tickets: bool,
    /// `ssl_buffer_size`, bytes; `None` where not written.
    pub buffer_size: Option<u64>,
    /// `ssl_reject_handshake`.
    pub reject_handshake: bool,
    /// `ssl_verify_client`.
    pub verify_client: VerifyClient,
    /// `ssl_verify_depth`.
    pub verify_depth: u32,
    /// `ssl_client_certificate`: a file of authorities that clients are told of.
    pub client_certificate: Option<Text>,
    /// `ssl_trusted_certificate`: a file of authorities that they are not told of.
    pub trusted_certificate: Option<Text>,
    /// `ssl_crl`: a file of revocation lists.
    pub crl: Option<Text>,
    /// `ssl_ocsp`.
    pub ocsp: AskOcsp,
    /// `ssl_ocsp_responder`: a URL.
    pub ocsp_responder: Option<Text>,
    /// `ssl_ocsp_cache`; none with `off`.
    pub ocsp_cache: Option<OcspCache>,
    /// `ssl_dhparam`: a file that is read, as nginx does, and not used.
    pub dhparam: Option<Text>,
    /// `ssl_session_ticket_key`: files of 48 or 80 bytes, the one that seals first.
    pub ticket_keys: Vec<Text>,
    /// `ssl_stapling`.
    pub stapling: bool,
    /// `ssl_stapling_file`: an OCSP answer in DER.
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
    /// `ssl_conf_command`: a name of OpenSSL's and its value.
    pub commands: Vec<(Text, Text)>,
}
