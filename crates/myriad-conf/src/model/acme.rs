//! Automatic certificates: `acme_issuer`, `acme_certificate`.

use std::fmt;
use std::net::IpAddr;

use crate::{span::Span, text::Text};

/// `challenge`: method that proves control of the names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AcmeChallenge {
    /// `http-01`: by a response over plain HTTP on port 80 (RFC 8555 section 8.3).
    #[default]
    Http01,
    /// `tls-alpn-01`: by a certificate in a handshake on port 443 (RFC 8737).
    TlsAlpn01,
}

impl AcmeChallenge {
    /// Returns the name used in authorizations and in the configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::Http01 => "http-01",
            Self::TlsAlpn01 => "tls-alpn-01",
        }
    }
}

/// Algorithm and size of a key, in the notation of `account_key` and `key=`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum AcmeKeyKind {
    /// `ecdsa:256`, the default: small, fast, supported by all clients.
    #[default]
    P256,
    /// `ecdsa:384`.
    P384,
    /// `ecdsa:521`.
    P521,
    /// `rsa:2048`.
    Rsa2048,
    /// `rsa:3072`.
    Rsa3072,
    /// `rsa:4096`.
    Rsa4096,
}

impl AcmeKeyKind {
    /// Returns the name.
    pub fn name(self) -> &'static str {
        match self {
            Self::P256 => "ecdsa:256",
            Self::P384 => "ecdsa:384",
            Self::P521 => "ecdsa:521",
            Self::Rsa2048 => "rsa:2048",
            Self::Rsa3072 => "rsa:3072",
            Self::Rsa4096 => "rsa:4096",
        }
    }

    /// Parses a name. An algorithm without a size means its default size.
    pub fn parse(name: &str) -> Option<Self> {
        let all = [Self::P256, Self::P384, Self::P521, Self::Rsa2048, Self::Rsa3072, Self::Rsa4096];
        match name {
            "ecdsa" => Some(Self::P256),
            "rsa" => Some(Self::Rsa2048),
            name => all.into_iter().find(|kind| kind.name() == name),
        }
    }
}

/// `account_key`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AccountKeyConf {
    /// Algorithm with its size: the key is generated.
    Kind(AcmeKeyKind),
    /// PEM file.
    File(Text),
}

/// `external_account_key`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExternalAccountConf {
    /// Identifier of the external account.
    pub kid: Text,
    /// File with the key, or the key itself after `data:`. Both are base64url.
    pub key: Text,
}

/// `acme_issuer` block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AcmeIssuerConf {
    /// Name.
    pub name: String,
    /// `uri`: URL of the directory; required.
    pub uri: Text,
    /// `account_key`.
    pub account_key: AccountKeyConf,
    /// `challenge`.
    pub challenge: AcmeChallenge,
    /// `common_name_in_csr`.
    pub common_name_in_csr: bool,
    /// `contact`.
    pub contacts: Vec<Text>,
    /// `external_account_key`.
    pub external_account: Option<ExternalAccountConf>,
    /// `preferred_chain`.
    pub preferred_chain: Option<Text>,
    /// `profile`, and true if it is set to `require`.
    pub profile: Option<(Text, bool)>,
    /// `ssl_trusted_certificate`; `None` for the system's authorities.
    pub trusted_certificate: Option<Text>,
    /// `ssl_verify`.
    pub verify: bool,
    /// `state_path`; `None` for `off`.
    pub state_path: Option<Text>,
    /// `accept_terms_of_service`.
    pub accepts_terms: bool,
    /// Position of the first word of the block.
    pub span: Span,
}

impl AcmeIssuerConf {
    /// Creates an issuer before any directive is applied, including the defaults.
    pub(crate) fn new(name: String, span: Span) -> Self {
        let state_path = Text::new(format!("acme_{name}").as_bytes(), span);
        Self {
            name,
            uri: Text::default(),
            account_key: AccountKeyConf::Kind(AcmeKeyKind::default()),
            challenge: AcmeChallenge::default(),
            common_name_in_csr: false,
            contacts: Vec::new(),
            external_account: None,
            preferred_chain: None,
            profile: None,
            trusted_certificate: None,
            verify: false,
            state_path: Some(state_path),
            accepts_terms: false,
            span,
        }
    }
}

/// Identifier that a certificate is ordered for.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum AcmeIdentifier {
    /// Host name in lower case.
    Dns(String),
    /// IP address (RFC 8738); few authorities support it.
    Ip(IpAddr),
}

impl fmt::Display for AcmeIdentifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dns(name) => f.write_str(name),
            Self::Ip(address) => write!(f, "{address}"),
        }
    }
}

/// `acme_certificate`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AcmeCertificateConf {
    /// Name of the issuer; checked to exist.
    pub issuer: Text,
    /// Identifiers as written; empty if the names of the server are used.
    pub written: Vec<Text>,
    /// Resolved identifiers; not empty.
    pub identifiers: Vec<AcmeIdentifier>,
    /// `key=`.
    pub key: AcmeKeyKind,
    /// Position of the directive.
    pub span: Span,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_no_key_has_are_refused() {
        for name in ["", "ecdsa:", "ecdsa:234", "rsa:1024", "ed25519", "rsa:2048 "] {
            assert_eq!(AcmeKeyKind::parse(name), None, "{name}");
        }
        assert_eq!(AcmeKeyKind::parse("rsa"), Some(AcmeKeyKind::Rsa2048));
    }
}
