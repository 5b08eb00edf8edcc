//! The `stream` block, which `myriad-stream` compiles: what it needs of the rest.

use std::sync::Arc;

use myriad_conf::{Diagnostic, Model};
use myriad_stream::{StreamRuntime, Surroundings};

use crate::features::resolver;

/// Compiles the block; none where there is none.
pub(super) fn stream(
    model: &Model,
    around: Surroundings<'_>,
) -> Result<Option<Arc<StreamRuntime>>, Vec<Diagnostic>> {
    Ok(myriad_stream::compile(model, around)?.map(Arc::new))
}

/// Makes resolvers as servers of HTTP have them.
pub(super) const RESOLVER: myriad_stream::MakeResolver = |settings, errors| {
    resolver::config(settings, errors).map(|config| (config, resolver::timeout_ms(settings)))
};
