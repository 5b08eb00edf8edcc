//! Settings of `origin_challenge`.

use myriad_conf::Text;
use myriad_conf::settings::Settings;

use super::pass::PassRules;

/// Parameters of `origin_challenge`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ChallengeConf {
    /// Condition: a request needs a pass if this evaluates to a text that is neither empty nor `0`, or cannot be
    /// evaluated.
    pub when: Text,
    /// Requirements for passes.
    pub rules: PassRules,
}

/// `origin_challenge` of a level; `None` for `off`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ChallengeSettings(pub Option<ChallengeConf>);

myriad_conf::feature_settings!(ChallengeSettings);

/// Returns the requirements for passes of a level, the defaults without `origin_challenge`. `origin_query_limit
/// action=challenge` uses them as well.
pub(crate) fn rules(settings: &Settings) -> PassRules {
    settings
        .feature::<ChallengeSettings>()
        .0
        .as_ref()
        .map(|setting| setting.rules.clone())
        .unwrap_or_default()
}
