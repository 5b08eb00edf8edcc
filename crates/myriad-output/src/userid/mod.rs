//! `userid*`: visitors are told apart by a cookie, with numbers as mod_uid of Apache (`v1`) or nginx (`on`) gives them. The cookie is
//! added to an answer on its way out, behind the store: no stored page holds one. It tells visits apart and proves nothing: numbers can
//! be guessed.
//!
//! | file | what |
//! |---|---|
//! | `directives`, `settings` | the rows; what they say |
//! | `id` | numbers: made, read, written |
//! | `visitor` | the number that came, and the one that is given |
//! | `add` | `Set-Cookie`, `P3P` |
//! | `variables` | `$uid_got`, `$uid_set`, `$uid_reset` |

mod add;
mod directives;
mod id;
mod settings;
mod variables;
mod visitor;

pub(crate) use add::add;
use myriad_conf::Text;
use myriad_conf::settings::Settings;
use myriad_exchange::feature::Feature;
use myriad_exchange::runtime::{PlaceFeatures, SettingsCompiler};
use myriad_script::Template;
use settings::{Gives, UseridSettings};

/// The feature, for the list of them.
pub const FEATURE: Feature =
    Feature::new("userid", directives::ROWS).compiled_by(compile).with_variables(variables::VARIABLES);

/// The directives of a place.
pub(crate) struct Userid {
    said: UseridSettings,
    /// `$uid_reset`, which the configuration may define.
    reset: Template,
}

fn compile(compiler: &mut dyn SettingsCompiler, settings: &Settings, features: &mut PlaceFeatures) {
    let said = settings.feature::<UseridSettings>();
    if said.gives != Gives::Off {
        let reset = compiler.answer_template(&Text::builtin("$uid_reset"));
        features.keep(Userid { said: said.clone(), reset });
    }
}
