//! Settings of `auth_request` and `auth_request_set`.

use myriad_conf::Text;

/// One `auth_request_set $variable value`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct VariableAssignment {
    /// Assigned variable, with its `$`.
    pub variable: Text,
    /// Assigned value; its variables are those of the subrequest.
    pub value: Text,
}

/// `auth_request*` of a level.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct AuthRequestSettings {
    /// `auth_request`: URI of the subrequest; `None` if not set or `off`.
    pub uri: Option<Text>,
    /// `auth_request_set`, in source order.
    pub sets: Vec<VariableAssignment>,
}

myriad_conf::feature_settings!(AuthRequestSettings);
