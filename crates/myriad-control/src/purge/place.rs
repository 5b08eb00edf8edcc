//! What a location purges that does nothing else: `*_cache_purge ZONE KEY`, `ZONE url TARGET`.

use std::sync::Arc;

use myriad_conf::Text;
use myriad_script::Template;

use myriad_exchange::exchange::Handler;
use myriad_exchange::feature::PlannedHandler;
use myriad_exchange::runtime::SettingsCompiler;
use myriad_page::PageZone;

/// What the directive says.
#[derive(Debug)]
pub(super) struct PurgeLocation {
    /// The zone's name.
    pub zone: Text,
    /// The key, or path and query; may hold variables.
    pub text: Text,
    /// `ZONE url TARGET`: the text is a path and query.
    pub by_url: bool,
}

impl PlannedHandler for PurgeLocation {
    fn make(&self, compile: &mut dyn SettingsCompiler, _: &[u8]) -> Option<Box<dyn Handler>> {
        // A zone that nothing defines has been reported.
        let zone = compile.cache_zone(&self.zone.lossy())?;
        let template = compile.apart_template(&self.text);
        let by = if self.by_url { PurgeBy::Url(template) } else { PurgeBy::Key(template) };
        Some(Box::new(PurgePlace { zone, by }))
    }
}

/// What a place purges.
pub(super) struct PurgePlace {
    /// The zone.
    pub zone: Arc<PageZone>,
    /// Which page.
    pub by: PurgeBy,
}

/// What a location purges.
pub(super) enum PurgeBy {
    /// What is stored under the key, or keys that begin so where it ends in `*`.
    Key(Template),
    /// What was fetched for the path and query, on the host that the request names.
    Url(Template),
}
