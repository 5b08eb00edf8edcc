//! What the directives say.

use myriad_conf::{Text, feature_settings};

/// `shared_fetch_headers`, `cache_key_field`, `cache_key_cookie`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SharedFetchSettings {
    /// Whether a shared fetch sends listed fields only; off as in nginx, which sends all of them.
    pub on: bool,
    /// Names that the built-in list gains.
    pub fields: Vec<Text>,
    /// What the key holds of a visitor's request.
    pub keyed: Vec<KeyedInput>,
}

feature_settings!(SharedFetchSettings);

/// One `cache_key_field` or `cache_key_cookie`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyedInput {
    /// Whether it is a cookie.
    pub cookie: bool,
    /// The name of the field or cookie.
    pub name: Text,
    /// The values that count; any other counts as none. Empty: whatever was sent.
    pub values: Vec<Text>,
}
