//! Helpers for unit tests: settings of directives.

use std::path::Path;

use myriad_conf::model::ServerConf;
use myriad_conf::registry::{DirectiveFamily, Registry};
use myriad_conf::{Diagnostic, MemoryLoader, Model, build};

/// Parses a configuration with one server that has these directives, of the core language and of a feature. The error
/// contains the diagnostics.
pub(crate) fn model(family: DirectiveFamily, inside: &str) -> Result<Model, Vec<Diagnostic>> {
    model_of([family], inside)
}

fn model_of(
    families: impl IntoIterator<Item = DirectiveFamily>,
    inside: &str,
) -> Result<Model, Vec<Diagnostic>> {
    let path = Path::new("/conf/nginx.conf");
    let registry = Registry::new(families, []);
    let file = format!("http {{ server {{ {inside} }} }}");
    build(&registry.parse(&MemoryLoader::with(path, file), path, b""), &registry)
}

/// Returns the settings of the server, for a valid configuration.
pub(crate) fn server(family: DirectiveFamily, inside: &str) -> ServerConf {
    server_of([family], inside)
}

/// Like [`server`], with the directives of several features.
pub(crate) fn server_of(families: impl IntoIterator<Item = DirectiveFamily>, inside: &str) -> ServerConf {
    let model = model_of(families, inside).expect("a valid configuration");
    model.http.expect("a block").servers.remove(0)
}
