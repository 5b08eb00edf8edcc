//! What a location purges.

use std::sync::Arc;

use myriad_script::Template;

use myriad_page::PageZone;

/// What a place purges.
pub struct PurgePlace {
    /// The zone.
    pub zone: Arc<PageZone>,
    /// Which page.
    pub by: PurgeBy,
}

/// What a location purges.
pub enum PurgeBy {
    /// What is stored under the key, or keys that begin so where it ends in `*`.
    Key(Template),
    /// What was fetched for the path and query, on the host that the request names.
    Url(Template),
}
