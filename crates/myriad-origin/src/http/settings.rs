//! The settings that HTTP alone has.

use myriad_conf::Text;

/// `proxy_redirect`; the first that matches rewrites `Location` and `Refresh`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Redirect {
    /// Made from `proxy_pass` and the location's prefix.
    Default,
    /// A prefix and what replaces it.
    Prefix {
        /// The prefix; may hold variables.
        from: Text,
        /// The replacement; may hold variables.
        to: Text,
    },
    /// A regex and what replaces the match.
    Regex {
        /// The pattern without its `~`.
        pattern: Text,
        /// `~*`.
        caseless: bool,
        /// The replacement; may hold captures and variables.
        to: Text,
    },
}

/// One `proxy_cookie_flags`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CookieFlags {
    /// The cookie's name, which may hold variables, or `~` and a regex.
    pub cookie: Text,
    /// `secure`, `nosecure`, `httponly`, `nohttponly`, `samesite=…`, `nosamesite`; may hold variables.
    pub flags: Vec<Text>,
}

/// `proxy_http_version`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum HttpVersion {
    /// `1.0`.
    #[default]
    Http10,
    /// `1.1`.
    Http11,
    /// `2`.
    Http2,
}

/// `proxy_*` of a level, beyond what every protocol has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct HttpSettings {
    /// `proxy_http_version`.
    pub version: HttpVersion,
    /// `proxy_redirect`; empty for `off`.
    pub redirects: Vec<Redirect>,
    /// `proxy_cookie_domain`; empty for `off`.
    pub cookie_domains: Vec<Redirect>,
    /// `proxy_cookie_path`; empty for `off`.
    pub cookie_paths: Vec<Redirect>,
    /// `proxy_cookie_flags`; empty for `off`.
    pub cookie_flags: Vec<CookieFlags>,
    /// `proxy_pass_trailers`.
    pub pass_trailers: bool,
    /// `proxy_method`.
    pub method: Option<Text>,
    /// `proxy_set_body`.
    pub body: Option<Text>,
}

myriad_conf::feature_settings!(HttpSettings);
