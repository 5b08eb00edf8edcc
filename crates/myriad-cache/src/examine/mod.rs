//! Findings that involve several cache directives: missing keys, and keys that lack an input.

mod key_without_host;
mod missing_key;
mod unkeyed_input;
mod variables;

use myriad_conf::Diagnostic;
use myriad_conf::model::HttpConf;

pub(crate) use missing_key::examine as block;

/// Examines all keys of a configuration.
pub(crate) fn http(http: &HttpConf, findings: &mut Vec<Diagnostic>) {
    key_without_host::examine(http, findings);
    unkeyed_input::examine(http, findings);
}
