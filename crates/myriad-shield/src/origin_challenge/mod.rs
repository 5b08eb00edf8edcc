//! `origin_challenge`: a page that a browser answers by itself, before a request that nobody vouches for costs the origin anything.
//!
//! ```text
//! about to go to the origin -- the condition is empty or 0 ------------------------> asked
//!    |                                                                                ^
//!    '-- the cookie holds a pass: signed here, for this network and browser, in time -'
//!    |
//!    '-- none: 503 and a page whose script looks for a number (proof of work), keeps it in the cookie, and asks again
//! ```
//!
//! Nothing is remembered of those who are asked: a pass is a text that this server signed and the number that the browser found for it.
//!
//! | file | what |
//! |---|---|
//! | `directives`, `settings` | the row; what it says |
//! | `pass` | a pass: signed, read, proved |
//! | `page` | the page, and its script |
//! | `judge` | a request before the origin |

mod directives;
mod judge;
mod page;
mod pass;
mod settings;
mod variables;

use myriad_conf::settings::Settings;
use myriad_exchange::feature::Feature;
use myriad_exchange::runtime::{PlaceFeatures, SettingsCompiler};

pub use judge::judge;
pub(crate) use judge::{Pass, pass, stand_before};
pub(crate) use pass::Passes;
use settings::ChallengeSettings;
pub(crate) use settings::rules;

/// The feature, for the list of them.
pub const FEATURE: Feature =
    Feature::new("shield", directives::ROWS).compiled_by(compile).with_variables(variables::VARIABLES);

fn compile(compiler: &mut dyn SettingsCompiler, settings: &Settings, features: &mut PlaceFeatures) {
    let said = settings.feature::<ChallengeSettings>();
    if let Some(challenge) = &said.0 {
        let when = compiler.apart_template(&challenge.when);
        features.keep(judge::Challenge::new(when, challenge.rules.clone()));
    }
}
