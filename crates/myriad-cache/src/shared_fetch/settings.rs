//! Settings of shared fetches.

use myriad_conf::{Text, feature_settings};

/// Settings of `shared_fetch_headers`, `cache_key_field` and `cache_key_cookie`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SharedFetchSettings {
    /// True if a shared fetch only sends listed header fields; false by default, as in nginx: all fields are sent.
    pub on: bool,
    /// Names of header fields that a shared fetch sends in addition to the built-in list.
    pub fields: Vec<Text>,
    /// Header fields and cookies of clients that cache keys contain.
    pub keyed: Vec<KeyedInput>,
}

feature_settings!(SharedFetchSettings);

/// Header field or cookie of the client whose value is part of cache keys (`cache_key_field`, `cache_key_cookie`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyedInput {
    /// True for a cookie, false for a header field.
    pub cookie: bool,
    /// Name of the field or cookie.
    pub name: Text,
    /// Recognized values; any other value is treated as absent. Empty to recognize every value.
    pub values: Vec<Text>,
}
