//! Settings of the directives.

use myriad_conf::registry::folder_permissions;
use myriad_http::MethodSet;

/// `dav_*` and related directives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct DavSettings {
    /// `dav_methods`.
    pub methods: MethodSet,
    /// `create_full_put_path`.
    pub full_path: bool,
    /// `min_delete_depth`.
    pub min_delete_depth: u64,
    /// `dav_access`.
    pub access: DavAccess,
}

myriad_conf::feature_settings!(DavSettings);

/// Permissions of new files (`dav_access`), as the bits of a mode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct DavAccess(pub u32);

impl DavAccess {
    /// Returns the permissions of new directories.
    pub(super) fn folder_mode(self) -> u32 {
        folder_permissions(self.0)
    }
}
