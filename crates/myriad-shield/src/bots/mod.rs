//! `$bot`: which kind of robot a visitor is, by what it calls itself and by the network that it comes from.
//!
//! | file | what |
//! |---|---|
//! | `presets/bots.conf` | the built-in list |
//! | `list` | a list, and a visitor looked up in it |
//! | `memo` | what a worker has found out of the last visitors |
//! | `directives`, `settings` | the block `bots`; what it says |
//! | `variables` | `$bot`, `$bot_name`, `$bot_verified` |

mod directives;
mod list;
mod memo;
mod settings;
mod variables;

use std::sync::Arc;

use myriad_conf::settings::Settings;
use myriad_exchange::exchange::VisitorClasses;
use myriad_exchange::feature::Feature;
use myriad_exchange::runtime::{PlaceFeatures, SettingsCompiler};

use list::BotList;
use settings::BotSettings;
use variables::{BuiltinClasses, OwnClasses};

/// The feature, for the list of them.
pub const FEATURE: Feature =
    Feature::new("shield", directives::ROWS).compiled_by(compile).with_variables(variables::VARIABLES);

/// Keeps the list of a configuration that has its own lines, and what counts requests by class.
fn compile(compiler: &mut dyn SettingsCompiler, settings: &Settings, features: &mut PlaceFeatures) {
    let own = settings.feature::<BotSettings>().is_said.then(|| {
        compiler.share(|http| {
            let said = http.settings.feature::<BotSettings>();
            BotList::new(said.lines.clone(), said.builtin)
        })
    });
    let classes: Arc<dyn VisitorClasses> = match &own {
        Some(list) => compiler.share(|_| OwnClasses(Arc::clone(list))),
        None => compiler.share(|_| BuiltinClasses),
    };
    features.keep(classes);
    if let Some(list) = own {
        features.keep::<Arc<BotList>>(list);
    }
}
