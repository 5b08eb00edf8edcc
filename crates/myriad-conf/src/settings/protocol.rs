//! Properties of an origin protocol: the prefix of its directives and the syntax of its targets. The crate that
//! implements a protocol defines them, and the registry contains the protocols of a build.

use std::fmt;

/// Origin protocol. Two protocols are equal if their directives have the same prefix.
#[derive(Clone, Copy)]
pub struct Protocol(&'static ProtocolFacts);

/// Properties of an origin protocol.
#[derive(Debug)]
pub struct ProtocolFacts {
    /// Prefix of the protocol's directives, including the underscore: `proxy_`.
    pub prefix: &'static str,
    /// Schemes with which the target of a `*_pass` may start, such as `http://`.
    pub schemes: &'static [Scheme],
    /// True if the target of a `*_pass` is a URL, which starts with one of the schemes and may contain a path;
    /// otherwise it is an address.
    pub is_url: bool,
    /// True if the origin receives a CGI environment (RFC 3875) instead of header fields.
    pub has_environment: bool,
    /// Cache key used if `*_cache_key` is not set.
    pub key: DefaultKey,
    /// Common directives that this protocol does not have, without its prefix. An entry also excludes every directive
    /// whose name continues with `_`: `cache` excludes `cache_key`.
    pub lacks: &'static [&'static str],
    /// Common directives that this protocol has in Myriad but not in nginx, in the form of `lacks`.
    pub own: &'static [&'static str],
}

impl ProtocolFacts {
    /// Base value for protocols that send a CGI environment to an address, without TLS.
    pub const ENVIRONMENT: Self = Self {
        prefix: "",
        schemes: &[],
        is_url: false,
        has_environment: true,
        key: DefaultKey::FULL,
        lacks: &[],
        own: &[],
    };
}

/// Cache key that a protocol uses if `*_cache_key` is not set.
#[derive(Clone, Copy, Debug)]
pub struct DefaultKey {
    /// Cache key with its variables.
    pub text: &'static str,
    /// Cache key in nginx's notation, in Markdown, for the documentation.
    pub documented: &'static str,
    /// True if a missing `*_cache_key` causes a warning, because nginx has no default for the protocol.
    pub warned: bool,
}

impl DefaultKey {
    /// Cache key of scheme, method, host and URI, for protocols without a default in nginx.
    pub const FULL: Self = Self {
        text: "$scheme$request_method$host$request_uri",
        documented: "`$scheme$request_method$host$request_uri`, with a warning; nginx has no default",
        warned: true,
    };
}

/// Scheme with which the target of a `*_pass` may start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scheme {
    /// Text of the scheme, including `://`.
    pub text: &'static str,
    /// Default port; `None` if the target must contain a port.
    pub port: Option<u16>,
    /// True if the scheme stands for TLS.
    pub secure: bool,
}

impl Protocol {
    /// Creates an origin protocol with these properties.
    pub const fn new(facts: &'static ProtocolFacts) -> Self {
        Self(facts)
    }

    /// Returns the prefix of the directive names, including the underscore.
    pub fn prefix(self) -> &'static str {
        self.0.prefix
    }

    /// Returns whether the target of a `*_pass` is a URL; otherwise it is an address.
    pub fn is_url(self) -> bool {
        self.0.is_url
    }

    /// Returns whether `stream` uses the TLS directives (`proxy_ssl_*`) of this protocol. The protocol must have URLs,
    /// TLS and no CGI environment.
    pub fn serves_streams(self) -> bool {
        self.is_url() && self.may_be_secure() && !self.has_environment()
    }

    /// Returns whether the origin receives a CGI environment (`*_param`) instead of header fields.
    pub fn has_environment(self) -> bool {
        self.0.has_environment
    }

    /// Returns whether the protocol has the common directive with this name (without the prefix).
    pub(crate) fn has(self, name: &str) -> bool {
        !contains_words_of(self.0.lacks, name)
    }

    /// Returns whether the common directive `name` (without the prefix) exists for this protocol in Myriad but not in
    /// nginx.
    pub(crate) fn is_own(self, name: &str) -> bool {
        contains_words_of(self.0.own, name)
    }

    /// Returns whether the protocol supports TLS (`*_ssl_*`).
    pub fn may_be_secure(self) -> bool {
        self.0.schemes.iter().any(|scheme| scheme.secure)
    }

    /// Returns the cache key used if `*_cache_key` is not set.
    pub fn default_key(self) -> DefaultKey {
        self.0.key
    }

    /// Returns the schemes with which the target of a `*_pass` may start.
    pub(crate) fn schemes(self) -> &'static [Scheme] {
        self.0.schemes
    }

    /// Splits the target of a `*_pass` into its scheme (case-insensitive) and the rest. A target that is not a URL may
    /// have no scheme. Returns `None` for a URL without a valid scheme.
    pub fn split(self, target: &str) -> Option<(Option<Scheme>, &str)> {
        let begins = |scheme: &&Scheme| {
            target.get(..scheme.text.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(scheme.text))
        };
        match self.0.schemes.iter().find(begins) {
            Some(scheme) => Some((Some(*scheme), &target[scheme.text.len()..])),
            None => (!self.is_url()).then_some((None, target)),
        }
    }
}

/// Returns whether `names` contains `name`, or a text with which `name` starts before one of its `_`.
fn contains_words_of(names: &[&str], name: &str) -> bool {
    let begins =
        |words: &&str| name.strip_prefix(words).is_some_and(|rest| rest.is_empty() || rest.starts_with('_'));
    names.iter().any(begins)
}

impl PartialEq for Protocol {
    fn eq(&self, other: &Self) -> bool {
        self.0.prefix == other.0.prefix
    }
}

impl Eq for Protocol {}

impl fmt::Debug for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Protocol({}*)", self.0.prefix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::{DirectiveStatus, ProtocolLanguage, Registry};
    use crate::testing::{ENVIRONMENT, URL};

    #[test]
    fn rows_are_lacking_by_the_first_words_of_their_names() {
        const LACKING: Protocol =
            Protocol::new(&ProtocolFacts { lacks: &["cache", "no_cache"], ..ProtocolFacts::ENVIRONMENT });
        assert!(["cached", "connect_timeout", "no"].iter().all(|name| LACKING.has(name)));
        assert!(!["cache", "cache_key", "no_cache"].iter().any(|name| LACKING.has(name)));
        assert!(URL.has("cache"));
    }

    #[test]
    fn directives_that_nginx_does_not_have_for_a_protocol_are_own() {
        const STORE: Protocol = Protocol::new(&ProtocolFacts {
            prefix: "store_",
            own: &["buffering", "busy_buffers_size"],
            ..ProtocolFacts::ENVIRONMENT
        });
        let registry = Registry::new([], [ProtocolLanguage::new(STORE, &[])]);
        let status = |name: &str| registry.rows_named(name).next().map(|row| row.status);
        assert_eq!(status("store_buffering"), Some(DirectiveStatus::Own));
        assert_eq!(status("store_connect_timeout"), Some(DirectiveStatus::Same));
        assert!(matches!(status("store_busy_buffers_size"), Some(DirectiveStatus::NoEffect(_))));
    }

    #[test]
    fn a_target_may_begin_with_a_scheme_and_an_url_must() {
        const SCHEME: Protocol = Protocol::new(&ProtocolFacts {
            prefix: "other_",
            schemes: &[Scheme { text: "others://", port: None, secure: true }],
            ..ProtocolFacts::ENVIRONMENT
        });
        let split = |protocol: Protocol, target| {
            protocol.split(target).map(|(scheme, rest)| (scheme.map(|scheme| scheme.text), rest))
        };
        assert_eq!(split(URL, "HTTPS://a/b"), Some((Some("https://"), "a/b")));
        assert_eq!(split(URL, "a:80"), None);
        assert_eq!(split(SCHEME, "others://a:1"), Some((Some("others://"), "a:1")));
        assert_eq!(split(SCHEME, "unix:/a"), Some((None, "unix:/a")));
        assert_eq!(split(ENVIRONMENT, "a:1"), Some((None, "a:1")));
    }

    #[test]
    fn only_protocol_with_secure_scheme_may_use_tls() {
        assert!(URL.may_be_secure() && !ENVIRONMENT.may_be_secure());
        assert!(URL != ENVIRONMENT);
    }
}
