//! Settings of the directives.

/// `userid`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum UseridMode {
    /// `off`.
    #[default]
    Off,
    /// `log`: received IDs are only parsed, for logs.
    Nothing,
    /// `v1`.
    FirstVersion,
    /// `on`.
    SecondVersion,
}

/// `userid_expires`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum CookieExpiry {
    /// `off`: until the browser session is closed.
    #[default]
    Session,
    /// `max`: on 31 December 2037.
    Max,
    /// Number of seconds from now.
    Seconds(u64),
}

/// Settings of a level.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct UseridSettings {
    /// `userid`.
    pub mode: UseridMode,
    /// `userid_service`; defaults to the server's address.
    pub service: Option<u32>,
    /// `userid_name`; defaults to `uid`.
    pub name: Option<Vec<u8>>,
    /// `userid_domain`.
    pub domain: Option<Vec<u8>>,
    /// `userid_path`; defaults to `/`.
    pub path: Option<Vec<u8>>,
    /// `userid_expires`.
    pub expires: CookieExpiry,
    /// `userid_flags`, as written in the cookie.
    pub flags: String,
    /// `userid_p3p`.
    pub p3p: Option<Vec<u8>>,
    /// `userid_mark`.
    pub mark: Option<u8>,
}

impl UseridSettings {
    /// Returns the name of the cookie.
    pub(super) fn name(&self) -> &[u8] {
        self.name.as_deref().unwrap_or(b"uid")
    }
}

myriad_conf::feature_settings!(UseridSettings);
