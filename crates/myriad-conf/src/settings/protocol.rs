//! A protocol of origins as the language knows it: what its directives begin with and what they may name. Which protocols there
//! are is not said here: each is brought to the registry by whoever speaks it.

use std::fmt;

/// A protocol that origins speak. Two are the same where their directives have the same prefix.
#[derive(Clone, Copy)]
pub struct Protocol(&'static ProtocolFacts);

/// What tells protocols apart.
#[derive(Debug)]
pub struct ProtocolFacts {
    /// The prefix of the directives, its underscore included.
    pub prefix: &'static str,
    /// What a target may begin with.
    pub schemes: &'static [Scheme],
    /// Whether a target is an URL, which begins with one of the schemes and may hold a path.
    pub is_url: bool,
    /// Whether the origin is told a CGI environment (RFC 3875), rather than fields.
    pub has_environment: bool,
    /// What a page is kept under where no `*_cache_key` is written.
    pub key: DefaultKey,
    /// The rows of all protocols that this one has no use for, by the first words of their names behind the prefix.
    pub lacks: &'static [&'static str],
}

impl ProtocolFacts {
    /// A protocol that tells a CGI environment to an address, without TLS.
    pub const ENVIRONMENT: Self = Self {
        prefix: "",
        schemes: &[],
        is_url: false,
        has_environment: true,
        key: DefaultKey::FULL,
        lacks: &[],
    };
}

/// The key of pages of a protocol, where none is written.
#[derive(Clone, Copy, Debug)]
pub struct DefaultKey {
    /// What the key is made of, with its variables.
    pub text: &'static str,
    /// The same as nginx documents it, in Markdown.
    pub documented: &'static str,
    /// Whether nginx has none, so that every URI would be one page, and warns.
    pub warned: bool,
}

impl DefaultKey {
    /// All that tells pages apart, for protocols without a key of their own.
    pub const FULL: Self = Self {
        text: "$scheme$request_method$host$request_uri",
        documented: "`$scheme$request_method$host$request_uri`, with a warning; nginx has none",
        warned: true,
    };
}

/// What a target may begin with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scheme {
    /// The text, `://` included.
    pub text: &'static str,
    /// The port where none is written; `None` where one must be.
    pub port: Option<u16>,
    /// Whether it stands for TLS.
    pub secure: bool,
}

impl Protocol {
    /// The protocol of these facts.
    pub const fn new(facts: &'static ProtocolFacts) -> Self {
        Self(facts)
    }

    /// The prefix of the names of its directives, its underscore included.
    pub fn prefix(self) -> &'static str {
        self.0.prefix
    }

    /// Whether a target is an URL.
    pub fn is_url(self) -> bool {
        self.0.is_url
    }

    /// Whether `stream` shares its words for TLS with peers (`proxy_ssl_*`): they are those of origins of URLs.
    pub fn serves_streams(self) -> bool {
        self.is_url() && self.may_be_secure() && !self.has_environment()
    }

    /// Whether the origin is told a CGI environment (`*_param`), rather than fields.
    pub fn has_environment(self) -> bool {
        self.0.has_environment
    }

    /// Whether it has a row of that name, without the prefix, which all protocols have.
    pub(crate) fn has(self, name: &str) -> bool {
        let begins = |words: &&str| {
            name.strip_prefix(words).is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
        };
        !self.0.lacks.iter().any(begins)
    }

    /// Whether it can be spoken by TLS (`*_ssl_*`).
    pub fn may_be_secure(self) -> bool {
        self.0.schemes.iter().any(|scheme| scheme.secure)
    }

    /// What a page is kept under where no `*_cache_key` is written.
    pub fn default_key(self) -> DefaultKey {
        self.0.key
    }

    /// What a target may begin with.
    pub(crate) fn schemes(self) -> &'static [Scheme] {
        self.0.schemes
    }

    /// A target taken apart: its scheme, in any case, and what follows it. `None` for an URL that begins with none.
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
    fn who_has_a_secure_scheme_may_speak_tls() {
        assert!(URL.may_be_secure() && !ENVIRONMENT.may_be_secure());
        assert!(URL != ENVIRONMENT);
    }
}
