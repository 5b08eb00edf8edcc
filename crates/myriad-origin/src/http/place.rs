//! Compiled `proxy_*` settings of a location that other protocols do not have.

use crate::param::Param;
use myriad_http::Known;
use myriad_script::Template;

use super::pass_url::PassUrl;
use super::rewriting::{CookieRewrites, Rewriting};
use myriad_exchange::runtime::{OriginTlsPlace, ResolverPlace};

/// Compiled `proxy_pass` or `grpc_pass` and related directives of a location.
pub(crate) struct HttpPlace {
    /// URL of `proxy_pass` or `grpc_pass`; `None` if it contains variables (each request then has its own URL) or is
    /// invalid.
    pub url: Option<PassUrl>,
    /// TLS settings for the origin; `None` if the URL is always `http://`.
    pub tls: Option<Box<OriginTlsPlace>>,
    /// Resolver for host names in a URL with variables; `None` without `resolver`, and if the URL has no variables.
    pub resolver: Option<ResolverPlace>,
    /// Prefix of the location's name, which is replaced by the path of the URL.
    pub prefix: Box<[u8]>,
    /// True with `proxy_http_version 1.1` or above, and for gRPC.
    pub http_1_1: bool,
    /// True with `proxy_http_version 2`, and for gRPC.
    pub http_2: bool,
    /// Header fields of the requests to the origin (`proxy_set_header`, `grpc_set_header`).
    pub fields: SentFields,
    /// True if trailers of the response are forwarded to the client (`proxy_pass_trailers`; always for gRPC).
    pub passes_trailers: bool,
    /// Method of the request instead of the client's (`proxy_method`); `None` for the client's.
    pub method: Option<Template>,
    /// Body of the request instead of the client's (`proxy_set_body`); `None` for the client's.
    pub body: Option<Template>,
    /// Rules that rewrite `Location` and `Refresh` (`proxy_redirect`).
    pub redirects: Vec<Rewriting>,
    /// True only if [`HttpPlace::redirects`] contain no captures and no variables assigned by rules such as `set`. The
    /// rules can then be used for a request that is routed like an earlier request, without running its rewrite rules
    /// again.
    pub plain_redirects: bool,
    /// Rules that rewrite cookies of responses (`proxy_cookie_*`); `None` if there are none.
    pub cookies: Option<Box<CookieRewrites>>,
}

impl HttpPlace {
    /// Creates the settings for HTTP/1.0 with a URL and a location prefix, and defaults otherwise.
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

/// Header fields of requests to an origin.
#[derive(Default)]
pub(crate) struct SentFields {
    /// Value of `Host` (`proxy_set_header Host`); `None` for the default, `$proxy_host`.
    pub host: Option<Template>,
    /// Fields of `proxy_set_header`, except `Host`, `Upgrade` and the fields that frame the body, which this server
    /// sets.
    pub written: Vec<Param>,
    /// True if `proxy_set_header Content-Length ""` omits the length for requests without a body.
    pub no_length: bool,
    /// True if `TE: trailers` is sent when the client sent it: for gRPC, unless `grpc_set_header` sets `TE`.
    pub requests_trailers: bool,
    /// Client fields that are not forwarded.
    pub replaced: ReplacedFields,
    /// Value of `Upgrade` (`proxy_set_header Upgrade`); `None` if it is not configured.
    pub upgrade: Option<Template>,
    /// Protocols allowed in `Upgrade` (`upgrade_protocols` and fixed values of `proxy_set_header Upgrade`), in lower
    /// case.
    pub upgrade_protocols: Vec<Box<[u8]>>,
}

/// Names of client fields that are not forwarded: those that `proxy_set_header` sets, and connection-specific fields.
#[derive(Default)]
pub(crate) struct ReplacedFields {
    /// Names of fields that [`Known`] contains.
    pub known: Vec<Known>,
    /// Names of fields that [`Known`] does not contain.
    pub others: Vec<Box<[u8]>>,
}

impl ReplacedFields {
    /// Adds the name of a field that is not forwarded.
    pub(crate) fn add(&mut self, name: &[u8]) {
        match Known::from_bytes(name) {
            Some(known) => self.known.push(known),
            None => self.others.push(name.into()),
        }
    }

    /// Returns whether the client's field with this name is not forwarded.
    pub(crate) fn has(&self, known: Option<Known>, name: &[u8]) -> bool {
        match known {
            Some(known) => self.known.contains(&known),
            None => self.others.iter().any(|other| other.eq_ignore_ascii_case(name)),
        }
    }
}
