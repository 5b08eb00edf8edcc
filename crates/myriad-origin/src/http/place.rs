//! How an HTTP origin is asked (`proxy_*`), beyond what all protocols share.

use crate::param::Param;
use myriad_http::Known;
use myriad_script::Template;

use super::pass_url::PassUrl;
use super::rewriting::{CookieRewrites, Rewriting};
use myriad_exchange::runtime::{OriginTlsPlace, ResolverPlace};

/// `proxy_pass` and its kin.
pub(crate) struct HttpPlace {
    /// The URL, where it holds no variables; else it is made for each request.
    pub url: Option<PassUrl>,
    /// TLS, where the URL is `https://` or may be.
    pub tls: Option<Box<OriginTlsPlace>>,
    /// Where the host of a URL that variables made is looked up.
    pub resolver: Option<ResolverPlace>,
    /// The prefix of the location, whose length of the URI the URL's path takes the place of.
    pub prefix: Box<[u8]>,
    /// `proxy_http_version 1.1` or above.
    pub http_1_1: bool,
    /// `proxy_http_version 2`.
    pub http_2: bool,
    /// The fields of the request.
    pub fields: SentFields,
    /// `proxy_pass_trailers`.
    pub passes_trailers: bool,
    /// `proxy_method`.
    pub method: Option<Template>,
    /// `proxy_set_body`.
    pub body: Option<Template>,
    /// `proxy_redirect`.
    pub redirects: Vec<Rewriting>,
    /// Whether [`HttpPlace::redirects`] read nothing that rules have set, so that the rules may have been run for an
    /// earlier request.
    pub plain_redirects: bool,
    /// `proxy_cookie_*`.
    pub cookies: Option<Box<CookieRewrites>>,
}

impl HttpPlace {
    /// A place of that URL and prefix that says nothing else, and asks by HTTP/1.0.
    pub(crate) fn new(url: Option<PassUrl>, prefix: &[u8]) -> Self {
        Self {
            url,
            tls: None,
            resolver: None,
            prefix: prefix.into(),
            http_1_1: false,
            http_2: false,
            fields: SentFields::default(),
            passes_trailers: false,
            method: None,
            body: None,
            redirects: Vec::new(),
            plain_redirects: true,
            cookies: None,
        }
    }
}

/// The fields that an origin is sent.
#[derive(Default)]
pub(crate) struct SentFields {
    /// `proxy_set_header Host`; `$proxy_host` where none is written.
    pub host: Option<Template>,
    /// `proxy_set_header`, but for `Host`, `Upgrade` and what frames the body, which is this server's own to say.
    pub written: Vec<Param>,
    /// Whether `proxy_set_header Content-Length ""` leaves the length of no body unsaid.
    pub no_length: bool,
    /// Whether the origin is asked for trailers where the client is told them (`TE: trailers`).
    pub asks_trailers: bool,
    /// Client's fields that are not passed on.
    pub replaced: ReplacedFields,
    /// `proxy_set_header Upgrade`.
    pub upgrade: Option<Template>,
    /// `upgrade_protocols`, in lower case.
    pub upgrade_protocols: Vec<Box<[u8]>>,
}

/// The names that `proxy_set_header` writes, and those that belong to a connection.
#[derive(Default)]
pub(crate) struct ReplacedFields {
    /// Well-known ones.
    pub known: Vec<Known>,
    /// Others.
    pub others: Vec<Box<[u8]>>,
}

impl ReplacedFields {
    /// Adds a name.
    pub(crate) fn add(&mut self, name: &[u8]) {
        match Known::from_bytes(name) {
            Some(known) => self.known.push(known),
            None => self.others.push(name.into()),
        }
    }

    /// Whether the client's field of that name stays here.
    pub(crate) fn has(&self, known: Option<Known>, name: &[u8]) -> bool {
        match known {
            Some(known) => self.known.contains(&known),
            None => self.others.iter().any(|other| other.eq_ignore_ascii_case(name)),
        }
    }
}
