//! Location of the plugin in a site.

/// Location where WordPress finds the plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PluginPlacement {
    /// Among the plugins; an administrator must activate it.
    Plugin,
    /// Among the must-use plugins, where it is always active.
    MustUse,
}

impl PluginPlacement {
    /// Returns the folder below `wp-content`.
    pub(super) fn folder(self) -> &'static str {
        match self {
            Self::Plugin => "plugins",
            Self::MustUse => "mu-plugins",
        }
    }
}
