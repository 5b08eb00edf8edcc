//! `proxy_ssl_*`: how an origin is spoken to by TLS.

use super::CertificateCache;
use crate::text::Text;

/// `proxy_ssl_*` of a level.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OriginTlsSettings {
    /// `proxy_ssl_session_reuse`.
    pub session_reuse: bool,
    /// `proxy_ssl_protocols` names TLS 1.2.
    pub tls12: bool,
    /// `proxy_ssl_protocols` names TLS 1.3.
    pub tls13: bool,
    /// `proxy_ssl_ciphers`, in OpenSSL's words; for TLS 1.2 alone.
    pub ciphers: Option<Text>,
    /// `proxy_ssl_conf_command`: a name of OpenSSL's and its value.
    pub commands: Vec<(Text, Text)>,
    /// `proxy_ssl_name`; the host of the URL where nothing is written.
    pub name: Option<Text>,
    /// `proxy_ssl_server_name`: whether the origin is told the name.
    pub server_name: bool,
    /// `proxy_ssl_verify`.
    pub verify: bool,
    /// `proxy_ssl_verify_depth`.
    pub verify_depth: u32,
    /// `proxy_ssl_trusted_certificate`: a file of authorities.
    pub trusted_certificate: Option<Text>,
    /// `proxy_ssl_crl`: a file of revocation lists.
    pub crl: Option<Text>,
    /// `proxy_ssl_certificate`: the client's own, may hold variables; empty for none.
    pub certificate: Option<Text>,
    /// `proxy_ssl_certificate_key`.
    pub key: Option<Text>,
    /// `proxy_ssl_password_file`.
    pub password_file: Option<Text>,
    /// `proxy_ssl_certificate_cache`; `None` for `off`.
    pub certificate_cache: Option<CertificateCache>,
}
