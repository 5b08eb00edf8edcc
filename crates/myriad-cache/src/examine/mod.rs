//! What only several directives of the cache together show: keys that are missing, or that hold too little.

mod hostless;
mod keyless;
mod unkeyed;
mod variables;

use myriad_conf::Diagnostic;
use myriad_conf::model::HttpConf;

pub(crate) use keyless::examine as block;

/// Looks over all keys of a configuration.
pub(crate) fn http(http: &HttpConf, findings: &mut Vec<Diagnostic>) {
    hostless::examine(http, findings);
    unkeyed::examine(http, findings);
}
