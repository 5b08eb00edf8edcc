//! Settings of the userid module.

/// Value of `userid`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum UseridMode {
    /// `off`: received IDs are ignored, and none is sent.
    #[default]
    Off,
    /// `log`: received IDs are parsed for logs, but none is sent.
    Nothing,
    /// `v1`: IDs in the format of Apache's mod_uid.
    FirstVersion,
    /// `on`: IDs in nginx's format.
    SecondVersion,
}

/// Value of `userid_expires`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum CookieExpiry {
    /// `off`: the cookie expires at the end of the browser session.
    #[default]
    Session,
    /// `max`: the cookie expires on 31 December 2037.
    Max,
    /// A duration: the cookie expires this number of seconds after the request.
    Seconds(u64),
}

/// Settings of `userid*` on a configuration level.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct UseridSettings {
    /// `userid`: format of IDs, or off.
    pub mode: UseridMode,
    /// `userid_service`: number of this server in IDs; `None` for the server's address (0 with `v1`).
    pub service: Option<u32>,
    /// `userid_name`: name of the cookie; `None` for `uid`.
    pub name: Option<Vec<u8>>,
    /// `userid_domain`: attribute `Domain` of the cookie; `None` for no attribute.
    pub domain: Option<Vec<u8>>,
    /// `userid_path`: attribute `Path` of the cookie; `None` for `/`.
    pub path: Option<Vec<u8>>,
    /// `userid_expires`: lifetime of the cookie.
    pub expires: CookieExpiry,
    /// `userid_flags`, as the attributes are written in the cookie.
    pub flags: String,
    /// `userid_p3p`: value of the response field `P3P`; `None` for no field.
    pub p3p: Option<Vec<u8>>,
    /// `userid_mark`: character after the ID in the cookie; clients whose cookie has another character get the cookie
    /// again. `None` for `off`.
    pub mark: Option<u8>,
}

impl UseridSettings {
    /// Returns the name of the cookie.
    pub(super) fn name(&self) -> &[u8] {
        self.name.as_deref().unwrap_or(b"uid")
    }
}

myriad_conf::feature_settings!(UseridSettings);
