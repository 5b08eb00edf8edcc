//! `secure_link*`: whether a link was made by whoever knows the secret, and has not expired. Variables tell; what follows is the
//! configuration's to say.
//!
//! | file | what |
//! |---|---|
//! | `directives`, `settings` | the rows; what they say |
//! | `variables` | `$secure_link`, `$secure_link_expires` |

mod directives;
mod settings;
mod variables;

use myriad_conf::settings::Settings;
use myriad_exchange::feature::Feature;
use myriad_exchange::runtime::{PlaceFeatures, SettingsCompiler};

use settings::LinkSettings;
use variables::SecureLink;

/// The feature, for the list of them.
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
