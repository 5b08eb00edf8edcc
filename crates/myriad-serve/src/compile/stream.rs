//! Compilation of the `stream` block, by `myriad_origin::stream`.

use std::sync::Arc;

use myriad_conf::{Diagnostic, Model};
use myriad_origin::stream::{StreamCompileInputs, StreamRuntime};

use crate::features::resolver;

/// Compiles the `stream` block; `None` if the model has none. Returns all errors of the block.
pub(super) fn stream(
    model: &Model,
    around: StreamCompileInputs<'_>,
) -> Result<Option<Arc<StreamRuntime>>, Vec<Diagnostic>> {
    Ok(myriad_origin::stream::compile(model, around)?.map(Arc::new))
}

/// Creates the resolvers of `stream` from the same directives as those of HTTP servers.
pub(super) const RESOLVER: myriad_origin::stream::ResolverFactory = |settings, errors| {
    resolver::config(settings, errors).map(|config| (config, resolver::timeout_ms(settings)))
};
