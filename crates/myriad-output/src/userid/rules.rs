//! Compiled settings of a place.

use myriad_conf::Text;
use myriad_conf::settings::Settings;
use myriad_exchange::runtime::{PlaceFeatures, SettingsCompiler};
use myriad_script::Template;

use super::settings::{UseridMode, UseridSettings};

/// Compiled settings of a place.
pub(crate) struct Userid {
    pub(super) settings: UseridSettings,
    /// `$uid_reset`, which the configuration may set.
    pub(super) reset: Template,
}

/// Compiles the settings of a place with `userid`.
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
