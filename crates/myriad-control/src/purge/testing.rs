//! For unit tests: pages in a zone that no origin gave.

use std::sync::Arc;

use bytes::Bytes;
use myriad_page::{Marks, PageFacts, PageMeta, PageZone, Parts, ProxiedFacts, TextEnds, system_ms};
use myriad_policy::{EntityTag, Lifetime, Source, Tags};
use myriad_store::{ALTERNATIVES, Admission, Completion, KeyRef};

use myriad_serve::testing::TestSite;

/// The zone `z` that [`ZONE`] defines.
pub fn zone_of(site: &TestSite) -> Arc<PageZone> {
    let exchange = site.exchange("/", &[]);
    Arc::clone(&exchange.request.site.runtime.zones["z"])
}

/// Defines a zone without a disk tier.
pub const ZONE: &str = "proxy_cache_path /nowhere/cache keys_zone=z:1m;";

/// Stores a page of eight bytes under a key; it was fetched for this URL, has these tags and is fresh for a minute.
pub fn store(zone: &PageZone, key: &str, (host, target): (&str, &str), tags: &str) {
    let tags = Tags::parse(tags.as_bytes());
    let marks = Marks::new("http", host.as_bytes(), target.as_bytes(), &tags);
    let parts = Parts {
        lines: b"X-A: b\r\n",
        marks: marks.borrowed(),
        media_type: b"text/html",
        last_modified: b"",
        reason: "",
        unsent: b"",
        cut: b"",
    };
    let now = system_ms();
    let lifetime = Lifetime {
        fresh_until: now + 60_000,
        stale_updating_until: 0,
        stale_error_until: 0,
        must_revalidate: false,
        valid_ms: 60_000,
        source: Source::Heuristic,
        born: None,
    };
    let facts = PageFacts {
        status: 200,
        ends: TextEnds::of(&parts),
        tag: Some(EntityTag::made(7)),
        modified_s: 0,
        origin_encoded: false,
        no_transform: false,
        redirects: false,
        kept_lifetime: lifetime.into(),
        kept_proxied: ProxiedFacts::default().into(),
        took: myriad_page::KeptTime::default(),
    };
    let meta = PageMeta::new(facts, parts.join());
    let writer = zone.zone.fetch_alone(KeyRef::new(key.as_bytes()), now);
    let mut writer = writer.admit(Admission { head: Arc::new(meta.clone()), selection: None, length: None });
    writer.push(Bytes::from_static(b"the page"));
    let alternatives = [const { None }; ALTERNATIVES];
    writer.complete(Completion { meta, now, fresh_until: now + 60_000, alternatives });
    assert!(is_stored(zone, key), "{key}");
}

/// Whether a page is stored under a key, and no purge covers it.
pub fn is_stored(zone: &PageZone, key: &str) -> bool {
    // What a purge covers by a pattern is gone once all pages were asked.
    while zone.zone.live_purges() > 0 {
        zone.zone.tend_purges(100);
    }
    !zone.zone.peek(KeyRef::new(key.as_bytes())).is_empty()
}

/// Whether a page is stored under a key that a soft purge has made stale.
pub fn is_stale(zone: &PageZone, key: &str) -> bool {
    let pages = zone.zone.peek(KeyRef::new(key.as_bytes()));
    pages.iter().any(|page| !page.is_fresh(system_ms()) || zone.zone.is_made_stale(page))
}
