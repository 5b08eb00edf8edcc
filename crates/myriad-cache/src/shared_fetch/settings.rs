//! Settings of the directives.

use myriad_conf::{Text, feature_settings};

/// Settings of `shared_fetch_headers`, `cache_key_field` and `cache_key_cookie`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SharedFetchSettings {
    /// Set if a shared fetch sends only listed fields. Off by default: all fields are sent, as in nginx.
    pub on: bool,
    /// Names added to the built-in list.
    pub fields: Vec<Text>,
    /// Client input that the key contains.
    pub keyed: Vec<KeyedInput>,
}

feature_settings!(SharedFetchSettings);

/// A `cache_key_field` or `cache_key_cookie`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyedInput {
    /// Set for a cookie.
    pub cookie: bool,
    /// Name of the field or cookie.
    pub name: Text,
    /// Accepted values; any other value is treated as absent. Empty to accept every value.
    pub values: Vec<Text>,
}
