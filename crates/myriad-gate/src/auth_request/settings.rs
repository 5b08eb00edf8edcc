//! What the directives say.

use myriad_conf::Text;

/// One `auth_request_set $variable value`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Assigned {
    /// The variable, with its `$`.
    pub variable: Text,
    /// The value, read from the subrequest.
    pub value: Text,
}

/// `auth_request*` of a level.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct AuthRequestSettings {
    /// `auth_request`: the URI that is asked; none for `off`.
    pub uri: Option<Text>,
    /// `auth_request_set`, in source order.
    pub sets: Vec<Assigned>,
}

myriad_conf::feature_settings!(AuthRequestSettings);
