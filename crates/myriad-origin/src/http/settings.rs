//! Settings of `proxy_*` that other protocols do not have.

use myriad_conf::Text;

/// Rule of `proxy_redirect` or `proxy_cookie_*`; of several, the first that matches applies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Redirect {
    /// Rule derived from the URL of `proxy_pass` and the location's prefix.
    Default,
    /// Replacement of a prefix.
    Prefix {
        /// Prefix; may contain variables.
        from: Text,
        /// Replacement; may contain variables.
        to: Text,
    },
    /// Replacement of the whole value if a regular expression matches.
    Regex {
        /// Pattern without `~` or `~*`.
        pattern: Text,
        /// True with `~*`: case-insensitive.
        caseless: bool,
        /// Replacement; may contain captures and variables.
        to: Text,
    },
}

/// Rule of one `proxy_cookie_flags` directive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CookieFlags {
    /// Name of the cookie, which may contain variables, or `~` and a regular expression.
    pub cookie: Text,
    /// `secure`, `nosecure`, `httponly`, `nohttponly`, `samesite=…`, `nosamesite`; may contain variables.
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

/// Configured `proxy_*` values that other protocols do not have.
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
