//! `secure_link*`: verifies that a link was created with the secret and has not expired. Variables contain the result;
//! the configuration decides about the response.
//!
//! | file | contents |
//! |---|---|
//! | `directives`, `settings` | rows and settings of the directives |
//! | `variables` | `$secure_link`, `$secure_link_expires` |

mod directives;
mod settings;
mod variables;

use myriad_conf::settings::Settings;
use myriad_exchange::feature::Feature;
use myriad_exchange::runtime::{PlaceFeatures, SettingsCompiler};

use settings::LinkSettings;
use variables::SecureLink;

/// Registration of this feature.
pub const FEATURE: Feature =
    Feature::new("secure_link", directives::ROWS).compiled_by(compile).with_variables(variables::VARIABLES);

fn compile(compiler: &mut dyn SettingsCompiler, settings: &Settings, features: &mut PlaceFeatures) {
    let link_settings = settings.feature::<LinkSettings>();
    if let Some(secret) = &link_settings.secret {
        features.insert(SecureLink::InPath(secret.bytes().into()));
    } else if let (Some(link), Some(digested)) = (&link_settings.link, &link_settings.digested) {
        let (link, digested) = (compiler.origin_template(link), compiler.origin_template(digested));
        features.insert(SecureLink::Digested { link, digested });
    }
}
