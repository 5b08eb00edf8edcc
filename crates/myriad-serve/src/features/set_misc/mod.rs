//! Directives of nginx's modules set-misc and devel kit, which assign the results of functions to variables, in the
//! order of rewrite directives.
//!
//! The functions are in `myriad_script::functions`; this module contains their directives. With one argument, most of
//! them replace the value of a variable.

mod directives;
mod settings;
#[cfg(test)]
mod tests;

use myriad_conf::Diagnostic;
use myriad_conf::model::{HttpConf, RewriteStep};
use myriad_exchange::feature::Feature;

/// Registration of the directives of nginx's set-misc module, such as `set_escape_uri`.
pub(super) const FEATURE: Feature = Feature::new("set_misc", directives::ROWS).warning_by(warn);

/// Warns of `set_*` directives in `http`: as in nginx, they declare their variable there, but are never executed.
fn warn(http: &HttpConf, warnings: &mut Vec<Diagnostic>) {
    for step in &http.idle_steps {
        if let RewriteStep::Call { name, span, .. } = step {
            let message = format!("\"{name}\" has no effect here: the variable remains empty");
            warnings.push(Diagnostic::warning(*span, message).help("write it in a server or location"));
        }
    }
}
