//! Compiled `proxy_*` that is not common to all protocols.

use crate::param::Param;
use myriad_http::Known;
use myriad_script::Template;

use super::pass_url::PassUrl;
use super::rewriting::{CookieRewrites, Rewriting};
use myriad_exchange::runtime::{OriginTlsPlace, ResolverPlace};

/// `proxy_pass` and related directives of a place.
pub(crate) struct HttpPlace {
    /// URL, if it contains no variables; otherwise it is built for each request.
    pub url: Option<PassUrl>,
    /// TLS settings, if the URL is `https://` or may be.
    pub tls: Option<Box<OriginTlsPlace>>,
    /// Resolver of hosts in URLs with variables.
    pub resolver: Option<ResolverPlace>,
    /// Prefix of the location, which the path of the URL replaces in the URI.
    pub prefix: Box<[u8]>,
    /// Set with `proxy_http_version 1.1` or above.
    pub http_1_1: bool,
    /// Set with `proxy_http_version 2`.
    pub http_2: bool,
    /// Header fields of the request.
    pub fields: SentFields,
    /// `proxy_pass_trailers`.
    pub passes_trailers: bool,
    /// `proxy_method`.
    pub method: Option<Template>,
    /// `proxy_set_body`.
    pub body: Option<Template>,
    /// `proxy_redirect`.
    pub redirects: Vec<Rewriting>,
    /// Set if [`HttpPlace::redirects`] read no results of rules, so that the rules may have been evaluated for an
    /// earlier request.
    pub plain_redirects: bool,
    /// `proxy_cookie_*`.
    pub cookies: Option<Box<CookieRewrites>>,
}

impl HttpPlace {
    /// Creates a place with a URL and a prefix, defaults otherwise, and HTTP/1.0.
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

/// Header fields sent to an origin.
#[derive(Default)]
pub(crate) struct SentFields {
    /// `proxy_set_header Host`; defaults to `$proxy_host`.
    pub host: Option<Template>,
    /// `proxy_set_header`, except `Host`, `Upgrade` and the fields that frame the body, which this server determines.
    pub written: Vec<Param>,
    /// Set if `proxy_set_header Content-Length ""` omits the length of requests without a body.
    pub no_length: bool,
    /// Set if trailers are requested from the origin when they are forwarded to the client (`TE: trailers`).
    pub requests_trailers: bool,
    /// Client fields that are not forwarded.
    pub replaced: ReplacedFields,
    /// `proxy_set_header Upgrade`.
    pub upgrade: Option<Template>,
    /// `upgrade_protocols`, in lower case.
    pub upgrade_protocols: Vec<Box<[u8]>>,
}

/// Names that `proxy_set_header` writes, and connection-specific names.
#[derive(Default)]
pub(crate) struct ReplacedFields {
    /// Registered names.
    pub known: Vec<Known>,
    /// Other names.
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

    /// Returns whether the client's field of that name is not forwarded.
    pub(crate) fn has(&self, known: Option<Known>, name: &[u8]) -> bool {
        match known {
            Some(known) => self.known.contains(&known),
            None => self.others.iter().any(|other| other.eq_ignore_ascii_case(name)),
        }
    }
}
