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
    let said = settings.feature::<LinkSettings>();
    if let Some(secret) = &said.secret {
        features.keep(SecureLink::InPath(secret.bytes().into()));
    } else if let (Some(link), Some(digested)) = (&said.link, &said.digested) {
        let (link, digested) = (compiler.apart_template(link), compiler.apart_template(digested));
        features.keep(SecureLink::Said { link, digested });
    }
}
