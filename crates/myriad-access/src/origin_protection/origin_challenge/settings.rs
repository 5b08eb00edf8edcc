//! Settings of the directive.

use myriad_conf::Text;
use myriad_conf::settings::Settings;

use super::pass::PassRules;

/// Settings of `origin_challenge`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ChallengeConf {
    /// Condition: a request needs a pass if this is neither empty nor 0.
    pub when: Text,
    /// Rules by which the pass is verified.
    pub rules: PassRules,
}

/// Directive of a level; `None` with `off`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ChallengeSettings(pub Option<ChallengeConf>);

myriad_conf::feature_settings!(ChallengeSettings);

/// Returns the rules of passes of a level. Other directives that require a pass use them as well.
pub(crate) fn rules(settings: &Settings) -> PassRules {
    settings.feature::<ChallengeSettings>().0.as_ref().map(|said| said.rules.clone()).unwrap_or_default()
}
