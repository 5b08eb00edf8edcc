//! Settings of `proxy_*` that other protocols do not have.

use myriad_conf::Text;

/// Rule of `proxy_redirect` or `proxy_cookie_*`; of several, the first that matches applies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Redirect {
    /// Rule derived from the URL of `proxy_pass` and the location's prefix.
    Default,
    /// Replacement of a prefix.
    Prefix {
        /// Prefix to replace; may contain variables.
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
    /// Flags: `secure`, `httponly`, `samesite=…`, and each with `no` before it to remove the flag; may contain
    /// variables.
    pub flags: Vec<Text>,
}

/// HTTP version of requests to the origin (`proxy_http_version`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum HttpVersion {
    /// HTTP/1.0.
    #[default]
    Http10,
    /// HTTP/1.1.
    Http11,
    /// HTTP/2.
    Http2,
}

/// Configured `proxy_*` values that other protocols do not have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct HttpSettings {
    /// HTTP version of requests (`proxy_http_version`).
    pub version: HttpVersion,
    /// Rules for `Location` and `Refresh` (`proxy_redirect`); empty for `off`.
    pub redirects: Vec<Redirect>,
    /// Rules for the domain of cookies (`proxy_cookie_domain`); empty for `off`.
    pub cookie_domains: Vec<Redirect>,
    /// Rules for the path of cookies (`proxy_cookie_path`); empty for `off`.
    pub cookie_paths: Vec<Redirect>,
    /// Rules for the flags of cookies (`proxy_cookie_flags`); empty for `off`.
    pub cookie_flags: Vec<CookieFlags>,
    /// True to forward trailers to the client (`proxy_pass_trailers`).
    pub pass_trailers: bool,
    /// Method of requests (`proxy_method`); `None` for the client's.
    pub method: Option<Text>,
    /// Body of requests (`proxy_set_body`); `None` for the client's.
    pub body: Option<Text>,
}

myriad_conf::feature_settings!(HttpSettings);
