//! Checks of cache directives that depend on each other: missing keys, keys that lack an input of the
//! page, and session cookies that are not personal.

mod key_without_host;
mod missing_key;
mod omitted_sessions;
mod unkeyed_input;
mod variables;

use myriad_conf::Diagnostic;
use myriad_conf::model::HttpConf;

pub(crate) use missing_key::examine as block;

/// Adds findings about the caches of all locations in the `http` block: keys without a host, session cookies that are
/// not personal, and client input that is not in the key.
pub(crate) fn http(http: &HttpConf, findings: &mut Vec<Diagnostic>) {
    key_without_host::examine(http, findings);
    omitted_sessions::examine(http, findings);
    unkeyed_input::examine(http, findings);
}
