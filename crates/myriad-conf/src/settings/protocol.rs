//! The protocols of origins.

/// Which protocol an origin speaks: the two members of the upstream family.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Protocol {
    /// `fastcgi_*`.
    FastCgi,
    /// `proxy_*`.
    Http,
}

impl Protocol {
    /// The prefix of the family's directive names: `fastcgi_` or `proxy_`.
    pub fn prefix(self) -> &'static str {
        match self {
            Self::FastCgi => "fastcgi_",
            Self::Http => "proxy_",
        }
    }
}
