//! Variables of nginx that have no value here, and all variables as the page of compatibility lists them.

use myriad_conf::registry::{NOT_YET, Status};

use crate::exchange::Request;
use crate::runtime::VariableRegistry;

/// A variable that nginx, or Myriad, makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DocumentedVariable {
    /// Its name without the `$`; one that ends with `_` stands for all that begin with it.
    pub name: &'static str,
    /// nginx's module, as its manual names it.
    pub module: &'static str,
    /// How it fares here.
    pub status: Status,
}

const NO_MODULE: &str = "Myriad does not have this module";
const NO_REGIONS: &str = "Myriad does not have the list of names of regions: `$geoip_region` is the code";
const INTERNAL: &str = "nginx uses it inside and does not document it";

/// Module, why its variables are refused, their names separated by spaces.
const REFUSED: &[(&str, &str, &str)] = &[
    ("browser", NO_MODULE, "msie modern_browser ancient_browser"),
    ("geoip", NO_REGIONS, "geoip_region_name"),
    ("grpc", INTERNAL, "grpc_internal_trailers"),
    ("proxy", NOT_YET, "proxy_add_via"),
    ("proxy", INTERNAL, "proxy_internal_body_length proxy_internal_chunked"),
];

fn refused() -> impl Iterator<Item = DocumentedVariable> {
    REFUSED.iter().flat_map(|&(module, reason, names)| {
        let status = Status::Refused(reason);
        names.split_whitespace().map(move |name| DocumentedVariable { name, module, status })
    })
}

/// Returns why a variable of nginx is not supported; `None` for an unknown name.
pub(super) fn refusal(name: &str) -> Option<&'static str> {
    match refused().find(|known| known.name == name)?.status {
        Status::Refused(reason) => Some(reason),
        _ => None,
    }
}

/// Every variable of nginx's HTTP modules and of Myriad's own, by module: those that mean what nginx documents first, then by name.
pub fn documented(registry: &VariableRegistry<Request>) -> Vec<DocumentedVariable> {
    let there = registry.rows().iter().map(|row| DocumentedVariable {
        name: row.name,
        module: row.module,
        status: row.status,
    });
    let mut all: Vec<_> = there.chain(refused()).collect();
    let rank = |status| match status {
        Status::Same => 0,
        Status::Refused(_) => 2,
        _ => 1,
    };
    all.sort_by_key(|known| (known.module != "core", known.module, rank(known.status), known.name));
    all
}
