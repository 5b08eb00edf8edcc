//! What the directives say.

use myriad_conf::registry::folder_permissions;
use myriad_http::Method;

/// `dav_*` and what belongs to them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct DavSettings {
    /// `dav_methods`.
    pub methods: Methods,
    /// `create_full_put_path`.
    pub full_path: bool,
    /// `min_delete_depth`.
    pub min_delete_depth: u64,
    /// `dav_access`.
    pub access: Access,
}

myriad_conf::feature_settings!(DavSettings);

/// A set of methods.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Methods(u8);

impl Methods {
    pub(super) const NONE: Self = Self(0);
    pub(super) const PUT: Self = Self(1);
    pub(super) const DELETE: Self = Self(2);
    pub(super) const MKCOL: Self = Self(4);
    pub(super) const COPY: Self = Self(8);
    pub(super) const MOVE: Self = Self(16);

    pub(super) fn with(self, more: Self) -> Self {
        Self(self.0 | more.0)
    }

    pub(super) fn is_empty(self) -> bool {
        self == Self::NONE
    }

    pub(super) fn has(self, method: Method) -> bool {
        let one = match method {
            Method::Put => Self::PUT,
            Method::Delete => Self::DELETE,
            Method::Mkcol => Self::MKCOL,
            Method::Copy => Self::COPY,
            Method::Move => Self::MOVE,
            _ => Self::NONE,
        };
        self.0 & one.0 != 0
    }
}

/// Permissions of new files (`dav_access`), as the bits of a mode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Access(pub u32);

impl Access {
    /// Permissions of new folders.
    pub(super) fn of_folder(self) -> u32 {
        folder_permissions(self.0)
    }
}
