//! Compiled settings of the userid module.

use myriad_conf::Text;
use myriad_conf::settings::Settings;
use myriad_exchange::runtime::{PlaceFeatures, SettingsCompiler};
use myriad_script::Template;

use super::settings::{UseridMode, UseridSettings};

/// Compiled `userid*` of a location.
pub(crate) struct Userid {
    pub(super) settings: UseridSettings,
    /// `$uid_reset`, which the configuration may set: a value other than empty or `0` makes the visitor get a new ID.
    pub(super) reset: Template,
}

/// Stores the compiled settings of a configuration level in `features`, unless `userid` is off.
pub(super) fn compile(
    compiler: &mut dyn SettingsCompiler,
    settings: &Settings,
    features: &mut PlaceFeatures,
) {
    let own_settings = settings.feature::<UseridSettings>();
    if own_settings.mode != UseridMode::Off {
        let reset = compiler.answer_template(&Text::builtin("$uid_reset"));
        features.insert(Userid { settings: own_settings.clone(), reset });
    }
}
