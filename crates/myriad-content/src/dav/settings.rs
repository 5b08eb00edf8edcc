//! Settings of the dav module.

use myriad_conf::registry::folder_permissions;
use myriad_http::MethodSet;

/// Settings `dav_methods`, `dav_access` and related ones of a configuration level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct DavSettings {
    /// `dav_methods`: enabled methods; empty for `off`.
    pub methods: MethodSet,
    /// `create_full_put_path`: PUT creates missing directories, as MOVE of a file always does.
    pub full_path: bool,
    /// `min_delete_depth`: minimum number of path elements for DELETE; 0 for no minimum.
    pub min_delete_depth: u64,
    /// `dav_access`: permissions of new files, from which those of new directories are derived.
    pub access: DavAccess,
}

myriad_conf::feature_settings!(DavSettings);

/// `dav_access`: permissions of new files, as mode bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct DavAccess(pub u32);

impl DavAccess {
    /// Returns the permissions of new directories, as mode bits: those of new files, and search permission for each
    /// class that may read.
    pub(super) fn folder_mode(self) -> u32 {
        folder_permissions(self.0)
    }
}
