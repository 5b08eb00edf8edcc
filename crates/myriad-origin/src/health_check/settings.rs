//! Settings of `health_check` and `match`.

use myriad_conf::settings::HealthCheck;
use myriad_conf::{Span, Text, feature_settings};

/// Setting of `health_check` in a location; nested locations do not inherit it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct HealthCheckSettings {
    pub check: Option<HealthCheck>,
}

feature_settings!(HealthCheckSettings, |_| Some(HealthCheckSettings::default()));

/// All `match` blocks of the `http` block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct MatchSettings {
    pub blocks: Vec<Match>,
}

feature_settings!(MatchSettings);

/// `match` block; all its conditions must be met.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Match {
    pub name: String,
    pub span: Span,
    pub tests: Vec<MatchCondition>,
}

/// Condition in a `match` block. The bool in the variants is false for the negated condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum MatchCondition {
    /// Condition of `status`: the status is in one of these inclusive ranges.
    Status(bool, Vec<(u16, u16)>),
    /// Condition of `header`: the name of a field, and its condition.
    Field(Text, FieldTest),
    /// Condition of `body`: a pattern that the start of the body matches.
    Body(bool, Text),
    /// Condition of `require`: these variables are neither empty nor `0`.
    Required(Vec<Text>),
}

/// Condition of a header field. The bool in the variants is false for the negated condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum FieldTest {
    /// The field is present, or absent if the bool is false.
    Present(bool),
    /// The value equals this text, or does not if the bool is false.
    Equals(bool, Text),
    /// The value matches a pattern, or does not if the bool is false.
    Fits(bool, Text),
}
