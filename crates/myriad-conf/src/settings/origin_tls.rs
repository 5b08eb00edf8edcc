//! `proxy_ssl_*`: TLS connections to an origin.

use super::CertificateCache;
use crate::text::Text;

/// `proxy_ssl_*` settings of a level.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OriginTlsSettings {
    /// `proxy_ssl_session_reuse`.
    pub session_reuse: bool,
    /// `proxy_ssl_protocols` includes TLS 1.2.
    pub tls12: bool,
    /// `proxy_ssl_protocols` includes TLS 1.3.
    pub tls13: bool,
    /// `proxy_ssl_ciphers` in OpenSSL's notation; only for TLS 1.2.
    pub ciphers: Option<Text>,
    /// `proxy_ssl_conf_command`: name and value of an OpenSSL command.
    pub commands: Vec<(Text, Text)>,
    /// `proxy_ssl_name`; the host of the URL if not set.
    pub name: Option<Text>,
    /// `proxy_ssl_server_name`: true if the name is sent to the origin (SNI).
    pub server_name: bool,
    /// `proxy_ssl_verify`.
    pub verify: bool,
    /// `proxy_ssl_verify_depth`.
    pub verify_depth: u32,
    /// `proxy_ssl_trusted_certificate`: file with certificate authorities.
    pub trusted_certificate: Option<Text>,
    /// `proxy_ssl_crl`: file with revocation lists.
    pub crl: Option<Text>,
    /// `proxy_ssl_certificate`: client certificate sent to the origin, may contain variables; empty for none.
    pub certificate: Option<Text>,
    /// `proxy_ssl_certificate_key`.
    pub key: Option<Text>,
    /// `proxy_ssl_password_file`.
    pub password_file: Option<Text>,
    /// `proxy_ssl_certificate_cache`; `None` for `off`.
    pub certificate_cache: Option<CertificateCache>,
}
