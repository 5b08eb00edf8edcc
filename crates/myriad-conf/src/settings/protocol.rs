//! The protocols of origins: all that the language says of each in one place.

/// Which protocol an origin speaks: the members of the upstream family.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Protocol {
    /// `fastcgi_*`.
    #[default]
    FastCgi,
    /// `proxy_*`.
    Http,
    /// `scgi_*`.
    Scgi,
    /// `uwsgi_*`.
    Uwsgi,
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

/// What tells the members of the family apart.
struct Facts {
    /// The prefix of the directives.
    prefix: &'static str,
    /// What the protocol is called.
    name: &'static str,
    /// What a target may begin with.
    schemes: &'static [Scheme],
    /// Whether a target is an URL, which begins with one of the schemes and may hold a path.
    is_url: bool,
    /// Whether the origin is told a CGI environment (RFC 3875), rather than fields.
    has_environment: bool,
    /// What a page is kept under where nothing is written.
    key: Option<&'static str>,
}

const fn scheme(text: &'static str, port: Option<u16>, secure: bool) -> Scheme {
    Scheme { text, port, secure }
}

const FASTCGI: Facts = Facts {
    prefix: "fastcgi_",
    name: "FastCGI",
    schemes: &[],
    is_url: false,
    has_environment: true,
    key: None,
};

const HTTP: Facts = Facts {
    prefix: "proxy_",
    name: "HTTP",
    schemes: &[scheme("http://", Some(80), false), scheme("https://", Some(443), true)],
    is_url: true,
    has_environment: false,
    // nginx documents it as `$scheme$proxy_host$request_uri`; it is made of the URI that the origin is asked for.
    key: Some("$proxy_internal_scheme://$proxy_host$proxy_internal_uri"),
};

const SCGI: Facts = Facts { prefix: "scgi_", name: "SCGI", ..FASTCGI };

const UWSGI: Facts = Facts {
    prefix: "uwsgi_",
    name: "uwsgi",
    schemes: &[scheme("uwsgi://", None, false), scheme("suwsgi://", None, true)],
    ..FASTCGI
};

impl Protocol {
    /// Every one.
    pub const ALL: [Self; 4] = [Self::FastCgi, Self::Http, Self::Scgi, Self::Uwsgi];

    fn facts(self) -> &'static Facts {
        match self {
            Self::FastCgi => &FASTCGI,
            Self::Http => &HTTP,
            Self::Scgi => &SCGI,
            Self::Uwsgi => &UWSGI,
        }
    }

    /// The prefix of the family's directive names: `fastcgi_`, `proxy_`.
    pub fn prefix(self) -> &'static str {
        self.facts().prefix
    }

    /// What the protocol is called.
    pub fn name(self) -> &'static str {
        self.facts().name
    }

    /// Whether a target is an URL.
    pub fn is_url(self) -> bool {
        self.facts().is_url
    }

    /// Whether the origin is told a CGI environment (`*_param`), rather than fields.
    pub fn has_environment(self) -> bool {
        self.facts().has_environment
    }

    /// Whether it can be spoken by TLS (`*_ssl_*`).
    pub fn may_be_secure(self) -> bool {
        self.facts().schemes.iter().any(|scheme| scheme.secure)
    }

    /// The text of `*_cache_key` where none is written.
    pub(crate) fn default_key(self) -> Option<&'static str> {
        self.facts().key
    }

    /// A target taken apart: its scheme, in any case, and what follows it. `None` for an URL that begins with none.
    pub fn split(self, target: &str) -> Option<(Option<Scheme>, &str)> {
        let begins = |scheme: &&Scheme| {
            target.get(..scheme.text.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(scheme.text))
        };
        match self.facts().schemes.iter().find(begins) {
            Some(scheme) => Some((Some(*scheme), &target[scheme.text.len()..])),
            None => (!self.is_url()).then_some((None, target)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_may_begin_with_a_scheme_and_an_url_must() {
        let split = |protocol: Protocol, target| {
            protocol.split(target).map(|(scheme, rest)| (scheme.map(|scheme| scheme.text), rest))
        };
        assert_eq!(split(Protocol::Http, "HTTPS://a/b"), Some((Some("https://"), "a/b")));
        assert_eq!(split(Protocol::Http, "a:80"), None);
        assert_eq!(split(Protocol::Uwsgi, "suwsgi://a:1"), Some((Some("suwsgi://"), "a:1")));
        assert_eq!(split(Protocol::Uwsgi, "unix:/a"), Some((None, "unix:/a")));
        assert_eq!(split(Protocol::Scgi, "a:1"), Some((None, "a:1")));
    }
}
