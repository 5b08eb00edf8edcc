//! `ssl_*`: how a server speaks TLS.

use crate::text::Text;

/// `ssl_session_cache`: where sessions are kept so that clients may resume them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SessionCache {
    /// `off`, `none`: clients are told that no session is kept.
    #[default]
    Off,
    /// `builtin`, `shared`: so many sessions, by nginx's measure of 4000 a megabyte.
    Kept(u32),
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
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsSettings {
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
    /// `ssl_prefer_server_ciphers`.
    pub prefer_server_ciphers: bool,
    /// `ssl_ecdh_curve`; none for `auto`.
    pub curves: Option<Text>,
    /// `ssl_session_cache`.
    pub session_cache: SessionCache,
    /// `ssl_session_timeout`, milliseconds.
    pub session_timeout: u64,
    /// `ssl_session_tickets`.
    pub session_tickets: bool,
    /// `ssl_buffer_size`, bytes.
    pub buffer_size: u64,
    /// `ssl_early_data`.
    pub early_data: bool,
    /// `ssl_reject_handshake`.
    pub reject_handshake: bool,
}

impl Default for TlsSettings {
    /// nginx's defaults.
    fn default() -> Self {
        Self {
            certificates: Vec::new(),
            keys: Vec::new(),
            password_file: None,
            tls12: true,
            tls13: true,
            ciphers: None,
            prefer_server_ciphers: false,
            curves: None,
            session_cache: SessionCache::Off,
            session_timeout: 300_000,
            session_tickets: true,
            buffer_size: 16 << 10,
            early_data: false,
            reject_handshake: false,
        }
    }
}
