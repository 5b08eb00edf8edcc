//! What the directives say.

use myriad_conf::Text;

/// `auth_basic*` and `auth_delay` of a level.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct AuthBasicSettings {
    /// `auth_basic`: the realm, none for `off`; may hold variables.
    pub realm: Option<Text>,
    /// `auth_basic_user_file`; may hold variables.
    pub user_file: Option<Text>,
    /// `auth_delay`, ms.
    pub delay: u64,
}

myriad_conf::feature_settings!(AuthBasicSettings);
