//! What the directives say.

use myriad_conf::Text;

/// The directives of a level.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct LinkSettings {
    /// `secure_link`: what the link says, a digest and when it expires.
    pub link: Option<Text>,
    /// `secure_link_md5`: what is digested.
    pub digested: Option<Text>,
    /// `secure_link_secret`.
    pub secret: Option<Text>,
}

myriad_conf::feature_settings!(LinkSettings);
