//! Findings that involve several cache directives: missing keys, and keys that lack an input.

mod hostless;
mod keyless;
mod unkeyed;
mod variables;

use myriad_conf::Diagnostic;
use myriad_conf::model::HttpConf;

pub(crate) use keyless::examine as block;

/// Examines all keys of a configuration.
pub(crate) fn http(http: &HttpConf, findings: &mut Vec<Diagnostic>) {
    hostless::examine(http, findings);
    unkeyed::examine(http, findings);
}
