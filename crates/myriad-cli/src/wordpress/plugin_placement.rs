//! Folder of the plugin in a site.

/// Kind of plugin as which WordPress finds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PluginPlacement {
    /// Plugin, which an administrator must activate.
    Plugin,
    /// Must-use plugin, which is always active.
    MustUse,
}

impl PluginPlacement {
    /// Returns the name of the folder below `wp-content` that contains plugins of this kind.
    pub(super) fn folder(self) -> &'static str {
        match self {
            Self::Plugin => "plugins",
            Self::MustUse => "mu-plugins",
        }
    }
}
