//! Test helpers: settings of a server, and an `http` block.

use std::path::Path;

use myriad_conf::model::{HttpConf, ServerConf};
use myriad_conf::registry::{DirectiveFamily, Registry};
use myriad_conf::{MemoryLoader, build};

/// Returns the settings of a server with the directives `inside`, from the language and from the feature.
pub(super) fn server(family: DirectiveFamily, inside: &str) -> ServerConf {
    http([family], &format!("server {{ {inside} }}")).servers.remove(0)
}

/// Returns the `http` block with the directives `inside`, from the language and from the features.
pub(super) fn http(families: impl IntoIterator<Item = DirectiveFamily>, inside: &str) -> HttpConf {
    let path = Path::new("/conf/nginx.conf");
    let registry = Registry::new(families, []);
    let parsed = registry.parse(&MemoryLoader::with(path, format!("http {{ {inside} }}")), path, b"");
    let model = build(&parsed, &registry).expect("a valid configuration");
    model.http.expect("a block")
}
