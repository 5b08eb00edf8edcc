//! What the directives say.

/// `userid`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Gives {
    /// `off`.
    #[default]
    Off,
    /// `log`: numbers that came are read, for logs.
    Nothing,
    /// `v1`.
    FirstVersion,
    /// `on`.
    SecondVersion,
}

/// `userid_expires`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Expires {
    /// `off`: with the browser's session.
    #[default]
    Session,
    /// `max`: at the end of 2037.
    Max,
    /// So many seconds from now.
    Seconds(u64),
}

/// The directives of a level.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct UseridSettings {
    /// `userid`.
    pub gives: Gives,
    /// `userid_service`; the server's address where none.
    pub service: Option<u32>,
    /// `userid_name`; `uid` where none.
    pub name: Option<Vec<u8>>,
    /// `userid_domain`.
    pub domain: Option<Vec<u8>>,
    /// `userid_path`; `/` where none.
    pub path: Option<Vec<u8>>,
    /// `userid_expires`.
    pub expires: Expires,
    /// `userid_flags`: as they stand in the cookie.
    pub flags: String,
    /// `userid_p3p`.
    pub p3p: Option<Vec<u8>>,
    /// `userid_mark`.
    pub mark: Option<u8>,
}

impl UseridSettings {
    /// The cookie's name.
    pub(super) fn name(&self) -> &[u8] {
        self.name.as_deref().unwrap_or(b"uid")
    }
}

myriad_conf::feature_settings!(UseridSettings);
