//! Context for `myriad-stream`, which compiles the `stream` block.

use std::sync::Arc;

use myriad_conf::{Diagnostic, Model};
use myriad_stream::{StreamCompileInputs, StreamRuntime};

use crate::features::resolver;

/// Compiles the block, if it exists.
pub(super) fn stream(
    model: &Model,
    around: StreamCompileInputs<'_>,
) -> Result<Option<Arc<StreamRuntime>>, Vec<Diagnostic>> {
    Ok(myriad_stream::compile(model, around)?.map(Arc::new))
}

/// Creates resolvers with the settings of HTTP servers.
pub(super) const RESOLVER: myriad_stream::ResolverFactory = |settings, errors| {
    resolver::config(settings, errors).map(|config| (config, resolver::timeout_ms(settings)))
};
