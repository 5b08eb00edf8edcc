//! nginx variables that are not supported, and the list of all variables for the compatibility page.

use myriad_conf::registry::{DirectiveStatus, NOT_YET};

use crate::exchange::Request;
use crate::runtime::VariableRegistry;

/// Variable of nginx or Myriad, as the compatibility page shows it to users.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DocumentedVariable {
    /// Name without `$`; a name that ends with `_` represents all variables with this prefix.
    pub name: &'static str,
    /// nginx module of the variable, as named in nginx's manual.
    pub module: &'static str,
    /// Compatibility with nginx: same, different, additional or not supported.
    pub status: DirectiveStatus,
}

const NO_MODULE: &str = "Myriad does not have this module";
const NO_REGIONS: &str = "Myriad has no list of region names: `$geoip_region` is the code";
const INTERNAL: &str = "an undocumented internal variable of nginx";

/// Variables of nginx that are not supported: module, reason, names separated by spaces.
const REFUSED: &[(&str, &str, &str)] = &[
    ("browser", NO_MODULE, "msie modern_browser ancient_browser"),
    ("geoip", NO_REGIONS, "geoip_region_name"),
    ("grpc", INTERNAL, "grpc_internal_trailers"),
    ("proxy", NOT_YET, "proxy_add_via"),
    ("proxy", INTERNAL, "proxy_internal_body_length proxy_internal_chunked"),
];

fn refused() -> impl Iterator<Item = DocumentedVariable> {
    REFUSED.iter().flat_map(|&(module, reason, names)| {
        let status = DirectiveStatus::Refused(reason);
        names.split_whitespace().map(move |name| DocumentedVariable { name, module, status })
    })
}

/// Returns the reason why a variable of nginx is not supported; `None` for other names.
pub(super) fn refusal(name: &str) -> Option<&'static str> {
    match refused().find(|known| known.name == name)?.status {
        DirectiveStatus::Refused(reason) => Some(reason),
        _ => None,
    }
}

/// Returns every variable of nginx's HTTP modules and of Myriad, sorted by module (`core` first), then by compatibility
/// (the same as in nginx, different or additional, not supported), then by name.
pub fn documented(registry: &VariableRegistry<Request>) -> Vec<DocumentedVariable> {
    let there = registry.rows().iter().map(|row| DocumentedVariable {
        name: row.name,
        module: row.module,
        status: row.status,
    });
    let mut all: Vec<_> = there.chain(refused()).collect();
    let rank = |status| match status {
        DirectiveStatus::Same => 0,
        DirectiveStatus::Refused(_) => 2,
        _ => 1,
    };
    all.sort_by_key(|known| (known.module != "core", known.module, rank(known.status), known.name));
    all
}
