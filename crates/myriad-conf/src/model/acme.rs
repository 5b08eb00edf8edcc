//! Certificates that renew themselves: `acme_issuer`, `acme_certificate`.

use std::net::IpAddr;

use crate::{span::Span, text::Text};

/// `challenge`: how names are proved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AcmeChallenge {
    /// `http-01`.
    #[default]
    Http01,
    /// `tls-alpn-01`.
    TlsAlpn01,
}

/// `account_key`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AccountKeyConf {
    /// An algorithm with its size, as in `ecdsa:256`: the key is made.
    Kind(String),
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
    pub(crate) fn new(name: String, span: Span) -> Self {
        let state_path = Text::new(format!("acme_{name}").as_bytes(), span);
        Self {
            name,
            uri: Text::default(),
            account_key: AccountKeyConf::Kind("ecdsa:256".to_owned()),
            challenge: AcmeChallenge::default(),
            common_name_in_csr: false,
            contacts: Vec::new(),
            external_account: None,
            preferred_chain: None,
            profile: None,
            trusted_certificate: None,
            verify: true,
            state_path: Some(state_path),
            accepts_terms: false,
            span,
        }
    }
}

/// What a certificate is ordered for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum AcmeIdentifier {
    /// A host name in lower case.
    Dns(String),
    /// An address.
    Ip(IpAddr),
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
    /// `key=`, as in `ecdsa:256`.
    pub key: String,
    /// The directive.
    pub span: Span,
}
