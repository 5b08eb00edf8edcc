//! Locations that only purge: `*_cache_purge ZONE KEY`, `ZONE url TARGET`.

use std::sync::Arc;

use myriad_conf::Text;
use myriad_script::Template;

use myriad_exchange::exchange::Handler;
use myriad_exchange::feature::PlannedHandler;
use myriad_exchange::runtime::SettingsCompiler;
use myriad_store::page::PageZone;

/// Settings of the directive.
#[derive(Debug)]
pub(super) struct PurgeLocation {
    /// Name of the zone.
    pub zone: Text,
    /// Key, or path and query; may contain variables.
    pub text: Text,
    /// Set with `ZONE url TARGET`: the text is a path and query.
    pub by_url: bool,
}

impl PlannedHandler for PurgeLocation {
    fn make(&self, compile: &mut dyn SettingsCompiler, _: &[u8]) -> Option<Box<dyn Handler>> {
        // An undefined zone has been reported.
        let zone = compile.cache_zone(&self.zone.lossy())?;
        let template = compile.origin_template(&self.text);
        let by = if self.by_url { PurgeBy::Url(template) } else { PurgeBy::Key(template) };
        Some(Box::new(PurgePlace { zone, by }))
    }
}

/// Purge rules of a location.
pub(super) struct PurgePlace {
    /// Zone.
    pub zone: Arc<PageZone>,
    /// Page to purge.
    pub by: PurgeBy,
}

/// Selection of pages that a location purges.
pub(super) enum PurgeBy {
    /// Pages with this key, or with this prefix if it has a trailing `*`.
    Key(Template),
    /// Pages fetched for this path and query, of the requested host.
    Url(Template),
}
