//! Settings of the directives.

use myriad_conf::Text;

/// Directives of a level.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct LinkSettings {
    /// `secure_link`: digest and expiry time of the link.
    pub link: Option<Text>,
    /// `secure_link_md5`: text that is digested.
    pub digested: Option<Text>,
    /// `secure_link_secret`.
    pub secret: Option<Text>,
}

myriad_conf::feature_settings!(LinkSettings);
