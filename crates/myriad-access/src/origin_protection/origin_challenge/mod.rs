//! `origin_challenge`: a page with a proof of work that a browser solves automatically, before an untrusted request
//! uses the origin.
//!
//! ```text
//! about to be sent to the origin -- the condition is empty or 0 --------------------------------> sent
//!    |                                                                                            ^
//!    |-- the cookie contains a valid pass: signed by this server, for this network and browser ---'
//!    |
//!    '-- no pass: 503 and a page whose script searches a number (proof of work), stores it in the cookie, and reloads
//! ```
//!
//! The server stores nothing about clients that receive a challenge: a pass contains the signature of this server and
//! the number that the browser found.
//!
//! | file | contents |
//! |---|---|
//! | `directives`, `settings` | directive, its parser and its settings |
//! | `pass` | passes: challenge, signature, verification |
//! | `pass_key` | key of the signatures that the nodes of a cluster share |
//! | `page` | challenge page and its script |
//! | `check` | check for a pass before the origin |
//! | `variables` | `$challenge_passed` |

mod check;
mod directives;
mod page;
mod pass;
mod pass_key;
mod settings;
mod variables;

use myriad_conf::settings::Settings;
use myriad_exchange::feature::Feature;
use myriad_exchange::runtime::{PlaceFeatures, SettingsCompiler};

pub use check::judge;
pub(crate) use check::{PassStatus, challenge_page, pass_status};
pub(crate) use pass::PassSigner;
pub use pass_key::share_pass_secret;
use settings::ChallengeSettings;
pub(crate) use settings::rules;

/// Registration of this feature.
pub const FEATURE: Feature =
    Feature::new("shield", directives::ROWS).compiled_by(compile).with_variables(variables::VARIABLES);

fn compile(compiler: &mut dyn SettingsCompiler, settings: &Settings, features: &mut PlaceFeatures) {
    let challenge_settings = settings.feature::<ChallengeSettings>();
    if let Some(challenge) = &challenge_settings.0 {
        let when = compiler.origin_template(&challenge.when);
        features.insert(check::OriginChallenge::new(when, challenge.rules.clone()));
    }
}
