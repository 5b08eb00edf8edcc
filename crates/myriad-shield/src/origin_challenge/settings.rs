//! What the directive says.

use myriad_conf::Text;
use myriad_conf::settings::Settings;

use super::pass::Rules;

/// `origin_challenge`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ChallengeConf {
    /// Who is asked for a pass: those for whom this is neither empty nor 0.
    pub when: Text,
    /// How it is proved.
    pub rules: Rules,
}

/// The directive of a level; none with `off`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ChallengeSettings(pub Option<ChallengeConf>);

myriad_conf::feature_settings!(ChallengeSettings);

/// How passes of a level are proved, also where other directives ask for them.
pub(crate) fn rules(settings: &Settings) -> Rules {
    settings.feature::<ChallengeSettings>().0.as_ref().map(|said| said.rules.clone()).unwrap_or_default()
}
