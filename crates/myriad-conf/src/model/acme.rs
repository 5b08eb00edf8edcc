//! Certificates that renew themselves: `acme_issuer`, `acme_certificate`.

use std::fmt;
use std::net::IpAddr;

use crate::{span::Span, text::Text};

/// `challenge`: how names are proved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AcmeChallenge {
    /// `http-01`: by an answer over plain HTTP on port 80 (RFC 8555 section 8.3).
    #[default]
    Http01,
    /// `tls-alpn-01`: by a certificate in a handshake on port 443 (RFC 8737).
    TlsAlpn01,
}

impl AcmeChallenge {
    /// Its name in authorizations, and in the configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::Http01 => "http-01",
            Self::TlsAlpn01 => "tls-alpn-01",
        }
    }
}

/// Algorithm and size of a key, as `account_key` and `key=` name them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum AcmeKeyKind {
    /// `ecdsa:256`, the default: small, fast, understood by all clients.
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
    /// Its name.
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

    /// The kind of that name. An algorithm alone means its default size.
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
    /// An algorithm with its size: the key is made.
    Kind(AcmeKeyKind),
    /// A file in PEM.
    File(Text),
}

/// `external_account_key`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExternalAccountConf {
    /// What the account is called elsewhere.
    pub kid: Text,
    /// A file with the key, or the key itself behind `data:`; base64url either way.
    pub key: Text,
}

/// An `acme_issuer` block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AcmeIssuerConf {
    /// Its name.
    pub name: String,
    /// `uri`: the directory's URL; always written.
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
    /// `profile`, and whether it says `require`.
    pub profile: Option<(Text, bool)>,
    /// `ssl_trusted_certificate`; none for the system's authorities.
    pub trusted_certificate: Option<Text>,
    /// `ssl_verify`.
    pub verify: bool,
    /// `state_path`; none for `off`.
    pub state_path: Option<Text>,
    /// `accept_terms_of_service`.
    pub accepts_terms: bool,
    /// The block's first word.
    pub span: Span,
}

impl AcmeIssuerConf {
    /// An issuer that no directive was laid over, not even the defaults.
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

/// What a certificate is ordered for.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum AcmeIdentifier {
    /// A host name in lower case.
    Dns(String),
    /// An address (RFC 8738); few authorities take one.
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
    /// The issuer's name; there is one of that name.
    pub issuer: Text,
    /// The identifiers as written; empty where the server's names are meant.
    pub written: Vec<Text>,
    /// What it is for, in the end; not empty.
    pub identifiers: Vec<AcmeIdentifier>,
    /// `key=`.
    pub key: AcmeKeyKind,
    /// The directive.
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
