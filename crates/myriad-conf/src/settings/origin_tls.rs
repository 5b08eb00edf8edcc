//! Settings for TLS connections to origins (`proxy_ssl_*` and the same for other protocols).

use super::CertificateCache;
use crate::text::Text;

/// TLS settings of a level for the origins of one protocol.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OriginTlsSettings {
    /// `proxy_ssl_session_reuse`: true if TLS sessions are resumed.
    pub session_reuse: bool,
    /// True if `proxy_ssl_protocols` includes TLS 1.2.
    pub tls12: bool,
    /// True if `proxy_ssl_protocols` includes TLS 1.3.
    pub tls13: bool,
    /// `proxy_ssl_ciphers`: TLS 1.2 cipher suites in OpenSSL's notation; `None` for all.
    pub ciphers: Option<Text>,
    /// `proxy_ssl_conf_command`: names and values of OpenSSL commands.
    pub commands: Vec<(Text, Text)>,
    /// `proxy_ssl_name`: name for the verification of the origin's certificate and for SNI; `None` for the host of the
    /// URL.
    pub name: Option<Text>,
    /// `proxy_ssl_server_name`: true if the name is sent to the origin (SNI).
    pub server_name: bool,
    /// `proxy_ssl_verify`: true if the origin's certificate is verified.
    pub verify: bool,
    /// `proxy_ssl_verify_depth`: maximum number of intermediate certificates.
    pub verify_depth: u32,
    /// `proxy_ssl_trusted_certificate`: file with CA certificates; `None` if not set.
    pub trusted_certificate: Option<Text>,
    /// `proxy_ssl_crl`: file with revocation lists; `None` if not set.
    pub crl: Option<Text>,
    /// `proxy_ssl_certificate`: file with the client certificate sent to the origin; may contain variables. `None` if
    /// not set; an empty text also means no certificate.
    pub certificate: Option<Text>,
    /// `proxy_ssl_certificate_key`: file with the key of the client certificate; may contain variables; `None` if not
    /// set.
    pub key: Option<Text>,
    /// `proxy_ssl_password_file`: file with passwords of encrypted keys, one per line; `None` if not set.
    pub password_file: Option<Text>,
    /// `*_ssl_certificate_cache`: cache of client certificates whose names contain variables; `None` for `off`.
    pub certificate_cache: Option<CertificateCache>,
}
