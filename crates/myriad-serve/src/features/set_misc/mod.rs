//! Directives of the modules set-misc and devel kit: variables by functions, among the steps of the rewrite module.
//!
//! What the functions do is in `myriad-functions`; here is how they are written. With one argument most of them change a variable in
//! its place.

mod directives;
mod settings;
#[cfg(test)]
mod tests;

use myriad_conf::Diagnostic;
use myriad_conf::model::{HttpConf, RewriteStep};
use myriad_exchange::feature::Feature;

/// The feature, for the list of them.
pub(super) const FEATURE: Feature = Feature::new("set_misc", directives::ROWS).warning_by(warn);

/// Warns of those in `http`: they declare their variable, and no request ever runs them, as in nginx.
fn warn(http: &HttpConf, warnings: &mut Vec<Diagnostic>) {
    for step in &http.idle_steps {
        if let RewriteStep::Call { name, span, .. } = step {
            let message = format!("\"{name}\" has no effect here: the variable stays empty");
            warnings.push(Diagnostic::warning(*span, message).help("write it in a server or a location"));
        }
    }
}
