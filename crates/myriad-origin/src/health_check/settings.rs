//! What the directives say.

use myriad_conf::settings::HealthCheck;
use myriad_conf::{Span, Text, feature_settings};

/// `health_check` of a location; those within have none of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct HealthCheckSettings {
    pub check: Option<HealthCheck>,
}

feature_settings!(HealthCheckSettings, |_| Some(HealthCheckSettings::default()));

/// The `match` blocks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct MatchSettings {
    pub blocks: Vec<Match>,
}

feature_settings!(MatchSettings);

/// A `match` block: all of it has to hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Match {
    pub name: String,
    pub span: Span,
    pub tests: Vec<Test>,
}

/// A line of a `match` block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Test {
    /// `status`: one of these ranges, or none of them.
    Status(bool, Vec<(u16, u16)>),
    /// `header`: a field, and what is to be true of it.
    Field(Text, FieldTest),
    /// `body`: a pattern that fits or does not.
    Body(bool, Text),
    /// `require`: variables that hold something else than `0`.
    Required(Vec<Text>),
}

/// What is to be true of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum FieldTest {
    /// It is there, or is not.
    Present(bool),
    /// It is this text, or is not.
    Equals(bool, Text),
    /// A pattern fits it, or does not.
    Fits(bool, Text),
}
