//! Place of the plugin in a site.

/// Where WordPress finds the plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Placement {
    /// Among the plugins: somebody activates it.
    Plugin,
    /// Among the must-use plugins: it is always active.
    MustUse,
}

impl Placement {
    /// Folder below `wp-content`.
    pub(super) fn folder(self) -> &'static str {
        match self {
            Self::Plugin => "plugins",
            Self::MustUse => "mu-plugins",
        }
    }
}
