//! Compiled settings of a place.

use myriad_conf::Text;
use myriad_conf::settings::Settings;
use myriad_exchange::runtime::{PlaceFeatures, SettingsCompiler};
use myriad_script::Template;

use super::settings::{Gives, UseridSettings};

/// Compiled settings of a place.
pub(crate) struct Userid {
    pub(super) said: UseridSettings,
    /// `$uid_reset`, which the configuration may set.
    pub(super) reset: Template,
}

/// Compiles the settings of a place with `userid`.
pub(super) fn compile(
    compiler: &mut dyn SettingsCompiler,
    settings: &Settings,
    features: &mut PlaceFeatures,
) {
    let said = settings.feature::<UseridSettings>();
    if said.gives != Gives::Off {
        let reset = compiler.answer_template(&Text::builtin("$uid_reset"));
        features.keep(Userid { said: said.clone(), reset });
    }
}
