//! Locations whose requests only purge: `*_cache_purge ZONE KEY`, `*_cache_purge ZONE url TARGET`.

use std::sync::Arc;

use myriad_conf::Text;
use myriad_script::Template;

use myriad_exchange::exchange::Handler;
use myriad_exchange::feature::PlannedHandler;
use myriad_exchange::runtime::SettingsCompiler;
use myriad_store::page::PageZone;

/// Parsed `*_cache_purge` with a zone: every request to the location purges.
#[derive(Debug)]
pub(super) struct PurgeLocation {
    /// Name of the cache zone in which pages are purged.
    pub zone: Text,
    /// Cache key, or path and query, of the page to purge; may contain variables.
    pub text: Text,
    /// True for `ZONE url TARGET`: `text` is a path and query.
    pub by_url: bool,
}

impl PlannedHandler for PurgeLocation {
    fn make(&self, compile: &mut dyn SettingsCompiler, _: &[u8]) -> Option<Box<dyn Handler>> {
        // `None` for an undefined zone, which has been reported.
        let zone = compile.cache_zone(&self.zone.lossy())?;
        let template = compile.origin_template(&self.text);
        let by = if self.by_url { PurgeBy::Url(template) } else { PurgeBy::Key(template) };
        Some(Box::new(PurgePlace { zone, by }))
    }
}

/// Content handler of a location that purges.
pub(super) struct PurgePlace {
    /// Cache zone in which pages are purged.
    pub zone: Arc<PageZone>,
    /// Pages to purge.
    pub by: PurgeBy,
}

/// Pages that a location purges.
pub(super) enum PurgeBy {
    /// Pages with this cache key, or whose key has this prefix if the text has a trailing `*`.
    Key(Template),
    /// Pages that were fetched for this path and query of the requested host. With methods other than GET and HEAD:
    /// the pages that `parse_purge` selects by this text and by headers of the request, for example a wildcard or
    /// tags.
    Url(Template),
}
