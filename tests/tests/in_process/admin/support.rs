//! Helpers: store pages in a zone without an origin, and check them.

use std::sync::Arc;

use bytes::Bytes;
use myriad_net::clock::now_ms;
use myriad_policy::{EntityTag, Tags};
use myriad_store::page::PageZone;
use myriad_store::page::testing::PageSpec;
use myriad_store::{ALTERNATIVES, Admission, Completion, KeyRef};

use myriad_serve::testing::TestSite;

/// Returns the zone `z` that [`ZONE`] defines.
pub(super) fn zone_of(site: &TestSite) -> Arc<PageZone> {
    let exchange = site.exchange("/", &[]);
    Arc::clone(&exchange.request.site.runtime.zones["z"])
}

/// Definition of a zone without a disk tier.
pub(super) const ZONE: &str = "proxy_cache_path /nowhere/cache keys_zone=z:1m;";

/// Stores a page of eight bytes under a key, fetched for this URL, with these tags, and fresh for a minute.
pub(super) fn store(zone: &PageZone, key: &str, (host, target): (&str, &str), tags: &str) {
    let now = now_ms();
    let (tags, tag) = (Tags::parse(tags.as_bytes()), Some(EntityTag::generated(7)));
    let meta = PageSpec { host, target, tags, tag, fresh_until: now + 60_000, ..PageSpec::default() }.meta();
    let writer = zone.zone.fetch_unshared(KeyRef::new(key.as_bytes()), now);
    let mut writer = writer.admit(Admission { head: Arc::new(meta.clone()), selection: None, length: None });
    writer.push(Bytes::from_static(b"the page"));
    let alternatives = [const { None }; ALTERNATIVES];
    writer.complete(Completion { meta, now, fresh_until: now + 60_000, alternatives });
    assert!(is_stored(zone, key), "{key}");
}

/// Returns whether a page is stored under a key, after all purges in progress have been completed.
pub(super) fn is_stored(zone: &PageZone, key: &str) -> bool {
    // Pattern purges remove pages only after all pages have been checked.
    while zone.zone.live_purges() > 0 {
        zone.zone.maintain_purges(100);
    }
    !zone.zone.peek(KeyRef::new(key.as_bytes())).is_empty()
}

/// Returns whether a page stored under a key was made stale by a soft purge.
pub(super) fn is_stale(zone: &PageZone, key: &str) -> bool {
    let pages = zone.zone.peek(KeyRef::new(key.as_bytes()));
    pages.iter().any(|page| !page.is_fresh(now_ms()) || zone.zone.is_made_stale(page))
}
