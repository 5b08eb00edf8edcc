//! Model of the directives for automatic certificates: `acme_issuer`, `acme_certificate`.

use std::fmt;
use std::net::IpAddr;

use crate::{span::Span, text::Text};

/// `challenge`: method by which the authority verifies control of the names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AcmeChallenge {
    /// `http-01`: a response over plain HTTP on port 80 (RFC 8555 section 8.3).
    #[default]
    Http01,
    /// `tls-alpn-01`: a certificate in a TLS handshake on port 443 (RFC 8737).
    TlsAlpn01,
}

impl AcmeChallenge {
    /// Returns the name of the challenge in ACME and in the configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::Http01 => "http-01",
            Self::TlsAlpn01 => "tls-alpn-01",
        }
    }
}

/// Algorithm and size of a private key, in the notation of `account_key` and `key=`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum AcmeKeyKind {
    /// `ecdsa:256`, the default: small, fast, supported by all clients.
    #[default]
    P256,
    /// `ecdsa:384`: an ECDSA key on the curve P-384.
    P384,
    /// `ecdsa:521`: an ECDSA key on the curve P-521.
    P521,
    /// `rsa:2048`: an RSA key of 2048 bits.
    Rsa2048,
    /// `rsa:3072`: an RSA key of 3072 bits.
    Rsa3072,
    /// `rsa:4096`: an RSA key of 4096 bits.
    Rsa4096,
}

impl AcmeKeyKind {
    /// Returns the name of the key type in the configuration, such as `ecdsa:256`.
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

    /// Parses the name of a key type; `None` if it is unknown. `ecdsa` and `rsa` mean `ecdsa:256` and `rsa:2048`.
    pub fn parse(name: &str) -> Option<Self> {
        let all = [Self::P256, Self::P384, Self::P521, Self::Rsa2048, Self::Rsa3072, Self::Rsa4096];
        match name {
            "ecdsa" => Some(Self::P256),
            "rsa" => Some(Self::Rsa2048),
            name => all.into_iter().find(|kind| kind.name() == name),
        }
    }
}

/// `account_key`: key of the ACME account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AccountKeyConf {
    /// Algorithm and size of a key that Myriad generates.
    Kind(AcmeKeyKind),
    /// PEM file with the account key.
    File(Text),
}

/// `external_account_key`: binding to an account that the authority created outside ACME.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExternalAccountConf {
    /// Identifier of the external account.
    pub kid: Text,
    /// File with the key, or the key itself after `data:`. Both are base64url.
    pub key: Text,
}

/// `acme_issuer` block: an ACME authority, and the account for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AcmeIssuerConf {
    /// Name that `acme_certificate` refers to.
    pub name: String,
    /// `uri`: URL of the ACME directory; empty until set, and required.
    pub uri: Text,
    /// `account_key`: key of the ACME account.
    pub account_key: AccountKeyConf,
    /// `challenge`: method by which the authority verifies control of the names.
    pub challenge: AcmeChallenge,
    /// `common_name_in_csr`: true if certificate requests contain the first identifier as subject.
    pub common_name_in_csr: bool,
    /// `contact`: URLs of contacts of the account, such as `mailto:admin@example.com`.
    pub contacts: Vec<Text>,
    /// `external_account_key`: binding to an account that was created outside ACME; `None` if not set.
    pub external_account: Option<ExternalAccountConf>,
    /// `preferred_chain`: name of the root certificate to which the certificate chain should lead; `None` if not set.
    pub preferred_chain: Option<Text>,
    /// `profile`: certificate profile, and true if the authority must support it (`require`); `None` if not set.
    pub profile: Option<(Text, bool)>,
    /// `ssl_trusted_certificate`: CA file for verifying the ACME server; `None` for the system's certificates.
    pub trusted_certificate: Option<Text>,
    /// `ssl_verify`: true if the certificate of the ACME server is verified.
    pub verify: bool,
    /// `state_path`: folder for the account key and certificates, relative to the prefix; `None` for `off`, which
    /// stores neither.
    pub state_path: Option<Text>,
    /// `accept_terms_of_service`: true if the terms of the authority are accepted.
    pub accepts_terms: bool,
    /// Position of the directive.
    pub span: Span,
}

impl AcmeIssuerConf {
    /// Creates an issuer without directives. The builder applies the defaults of the registry to it.
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

/// Identifier (name or address) in a certificate.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum AcmeIdentifier {
    /// Host name in lower case.
    Dns(String),
    /// IP address (RFC 8738), which few authorities support.
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

/// `acme_certificate`: certificate of a server that is obtained by ACME.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AcmeCertificateConf {
    /// Name of the issuer, which is checked to exist.
    pub issuer: Text,
    /// Identifiers as written; empty to use the names of the server.
    pub written: Vec<Text>,
    /// Identifiers of the certificate: those of `written`, or else the names of the server, without duplicates; at
    /// least one in a complete model.
    pub identifiers: Vec<AcmeIdentifier>,
    /// `key=`: type of the certificate's key.
    pub key: AcmeKeyKind,
    /// `cluster=`: false if the nodes of a cluster do not share the certificate.
    pub cluster: bool,
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
