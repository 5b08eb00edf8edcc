//! Compilation of `resolver`: the DNS resolvers of a configuration.

use std::sync::Arc;

use myriad_conf::settings::Settings;

use super::RuntimeCompiler;
use crate::features::resolver::{config, timeout_ms};
use myriad_exchange::runtime::ResolverPlace;

impl RuntimeCompiler<'_> {
    /// Returns the resolver of a level; `None` without `resolver`. Levels with equal settings share a resolver and its
    /// cache.
    pub(super) fn resolver(&mut self, settings: &Settings) -> Option<ResolverPlace> {
        let config = config(settings, &mut self.errors)?;
        let known = self.resolvers.iter().position(|known| **known == config);
        let index = known.unwrap_or_else(|| {
            self.resolvers.push(Arc::new(config));
            self.resolvers.len() - 1
        });
        Some(ResolverPlace { index, timeout_ms: timeout_ms(settings) })
    }
}
