//! `$bot`: classification of robots by `User-Agent` and by client network.
//!
//! | file | contents |
//! |---|---|
//! | `presets/bots.conf` | built-in list |
//! | `list` | list of robots, and the lookup of a client |
//! | `memo` | per-worker memo of recent lookups |
//! | `directives`, `settings` | directive `bots`, the parser of its block, its settings |
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
use variables::{BuiltinClasses, ConfiguredClasses};

/// Registration of this feature.
pub const FEATURE: Feature =
    Feature::new("shield", directives::ROWS).compiled_by(compile).with_variables(variables::VARIABLES);

/// Stores in `features` the list of the configuration, if it has a `bots` block, and the classifier by which requests
/// are counted.
fn compile(compiler: &mut dyn SettingsCompiler, settings: &Settings, features: &mut PlaceFeatures) {
    let own = settings.feature::<BotSettings>().is_configured.then(|| {
        compiler.share(|http| {
            let bot_settings = http.settings.feature::<BotSettings>();
            BotList::new(bot_settings.lines.clone(), bot_settings.builtin)
        })
    });
    let classes: Arc<dyn VisitorClasses> = match &own {
        Some(list) => compiler.share(|_| ConfiguredClasses(Arc::clone(list))),
        None => compiler.share(|_| BuiltinClasses),
    };
    features.insert(classes);
    if let Some(list) = own {
        features.insert::<Arc<BotList>>(list);
    }
}
