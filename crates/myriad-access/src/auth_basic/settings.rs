//! Settings of `auth_basic*` and `auth_delay`.

use myriad_conf::Text;

/// Settings of `auth_basic*` and `auth_delay` of a level.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct AuthBasicSettings {
    /// `auth_basic`: realm, `None` if not set or `off`; may contain variables.
    pub realm: Option<Text>,
    /// `auth_basic_user_file`: name of the password file, `None` if not set; may contain variables.
    pub user_file: Option<Text>,
    /// `auth_delay`: delay of 401 responses, in milliseconds.
    pub delay: u64,
}

myriad_conf::feature_settings!(AuthBasicSettings);
