//! Test helper: settings of a server.

use std::path::Path;

use myriad_conf::model::ServerConf;
use myriad_conf::registry::{DirectiveFamily, Registry};
use myriad_conf::{MemoryLoader, build};

/// Returns the settings of a server with the directives `inside`, from the language and from the feature.
pub(super) fn server(family: DirectiveFamily, inside: &str) -> ServerConf {
    let path = Path::new("/conf/nginx.conf");
    let registry = Registry::new([family], []);
    let parsed =
        registry.parse(&MemoryLoader::with(path, format!("http {{ server {{ {inside} }} }}")), path, b"");
    let model = build(&parsed, &registry).expect("a valid configuration");
    model.http.expect("a block").servers.remove(0)
}
