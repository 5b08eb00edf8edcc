//! Settings of `secure_link*`.

use myriad_conf::Text;

/// `secure_link*` of a level.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct LinkSettings {
    /// `secure_link`: text with the digest and the expiry time of the link; `None` if it is not configured.
    pub link: Option<Text>,
    /// `secure_link_md5`: text whose digest is compared; `None` if it is not configured.
    pub digested: Option<Text>,
    /// `secure_link_secret`: secret of the older form, in which the digest is part of the path; `None` if it is not
    /// configured.
    pub secret: Option<Text>,
}

myriad_conf::feature_settings!(LinkSettings);
