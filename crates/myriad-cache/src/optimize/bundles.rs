//! Style sheets and scripts that optimized pages name, under [`BUNDLE_FOLDER`].
//!
//! A bundle is a page of the zone with a separate key, and is therefore written to the zone's disk. While optimized pages
//! name it, and for ten minutes afterwards, it is also in a table in memory that purges and eviction do not change: a browser
//! that has received a page gets its bundles.

use std::collections::HashMap;
use std::future::poll_fn;
use std::sync::{Arc, LazyLock};

use bytes::Bytes;
use myriad_exchange::exchange::{Exchange, PhaseStep, Request};
use myriad_http::{Method, ResponseHead};
use myriad_net::clock::now_ms;
use myriad_optimize::{BUNDLE_FOLDER, PageBundle};
use myriad_policy::CacheStatus;
use myriad_store::KeyRef;
use myriad_store::page::key::{BUNDLE, append};
use myriad_store::page::{Page, PageZone};
use parking_lot::Mutex;

use crate::journey_step::OwnedCacheContext;
use crate::made_page::MadePage;
use crate::page;

/// Time for which browsers and the zone store a bundle, in milliseconds. Its name changes with its content.
const VALID_MS: u64 = 365 * 86_400_000;
/// Minimum time for which a bundle remains in memory after the last optimized page that named it, in milliseconds.
const RETAINED_MS: u64 = 600_000;
/// Divisor of a zone's memory limit: maximum size of its bundles that are in the table.
const MEMORY_PART: usize = 8;

/// Bundles in memory, by name. The name depends on the content only, so that pages of several hosts share a bundle.
static BUNDLES: LazyLock<Mutex<BundleTable>> = LazyLock::new(Mutex::default);

#[derive(Default)]
struct BundleTable {
    entries: HashMap<Arc<str>, BundleEntry>,
    /// Bytes of the bundles of each zone, by the address of the zone in memory.
    bytes: HashMap<usize, usize>,
}

struct BundleEntry {
    page: Page,
    zone: Arc<PageZone>,
    /// Time since which no page names the bundle, in milliseconds since the epoch; `None` while one does.
    unused_since: Option<u64>,
}

impl BundleTable {
    fn get(&self, name: &str) -> Option<(Arc<str>, &BundleEntry)> {
        self.entries.get_key_value(name).map(|(name, entry)| (Arc::clone(name), entry))
    }

    /// Removes bundles that no page has named for [`RETAINED_MS`].
    fn sweep(&mut self, now: u64) {
        let bytes = &mut self.bytes;
        self.entries.retain(|name, entry| {
            // The table itself has one reference.
            if Arc::strong_count(name) > 1 {
                entry.unused_since = None;
                return true;
            }
            let since = *entry.unused_since.get_or_insert(now);
            let is_retained = now < since.saturating_add(RETAINED_MS);
            if !is_retained && let Some(bytes) = bytes.get_mut(&address(&entry.zone)) {
                *bytes = bytes.saturating_sub(entry.page.weight());
            }
            is_retained
        });
        bytes.retain(|_, bytes| *bytes > 0);
    }
}

/// Makes a bundle available to clients. Returns its name, which the caller must retain while pages contain it, because
/// an unused bundle is removed; `None` if there is no space for the bundle in the table or in the zone.
pub(super) fn publish(
    exchange: &Exchange,
    held: &OwnedCacheContext,
    bundle: &PageBundle,
) -> Option<Arc<str>> {
    let name = bundle.path.strip_prefix(BUNDLE_FOLDER)?;
    let (zone, now) = (&held.cache.zone, now_ms());
    {
        let mut table = BUNDLES.lock();
        table.sweep(now);
        if let Some((name, entry)) = table.get(name)
            && is_stored(&entry.zone, &name)
        {
            return Some(name);
        }
        let used = table.bytes.get(&address(zone)).copied().unwrap_or(0);
        if used + bundle.text.len() > zone.zone.limits().memory_bytes / MEMORY_PART {
            return None;
        }
    }
    let page = store(exchange, held, name, bundle, now)?;
    let mut table = BUNDLES.lock();
    // Another thread may have added the bundle, and a purge may have removed it from the zone only.
    if let Some((name, _)) = table.get(name) {
        return Some(name);
    }
    let name: Arc<str> = name.into();
    *table.bytes.entry(address(zone)).or_default() += page.weight();
    let entry = BundleEntry { page, zone: Arc::clone(zone), unused_since: None };
    table.entries.insert(Arc::clone(&name), entry);
    Some(name)
}

/// Returns whether a bundle is stored in its zone, in memory or on disk.
fn is_stored(zone: &PageZone, name: &str) -> bool {
    let key = key_of(name);
    zone.zone.peek_variant(KeyRef::new(&key), |_, _| {}).is_some()
        || zone.zone.seek(KeyRef::new(&key), |_, _| {}).is_some()
}

fn address(zone: &Arc<PageZone>) -> usize {
    Arc::as_ptr(zone) as usize
}

fn key_of(name: &str) -> Vec<u8> {
    let mut key = Vec::new();
    append(BUNDLE, name.as_bytes(), &mut key);
    key
}

fn store(
    exchange: &Exchange,
    held: &OwnedCacheContext,
    name: &str,
    bundle: &PageBundle,
    now: u64,
) -> Option<Page> {
    let head = ResponseHead::new(200)
        .with(b"Content-Type", bundle.kind.content_type().as_bytes())
        .with(b"Cache-Control", b"public, max-age=31536000, immutable");
    let body = Bytes::copy_from_slice(bundle.text.as_bytes());
    let (key, path) = (key_of(name), bundle.path.as_bytes());
    MadePage { key: &key, path, head, body, valid_ms: VALID_MS }.store(exchange, held, now)
}

/// Returns whether a request is a GET or HEAD for the path of a bundle.
pub fn names_bundle(request: &Request) -> bool {
    bundle_name(request).is_some()
}

/// Returns the response to a request for a bundle; `None` for other requests, if there is no such bundle, and if the
/// server restricts access, because the optimizer reads no files of a server with restricted access.
pub fn bundle_response(exchange: &mut Exchange) -> Option<PhaseStep> {
    let request = &exchange.request;
    let name = bundle_name(request).filter(|_| request.place().entry.gate.is_none())?;
    let found = {
        let table = BUNDLES.lock();
        table.get(&name).map(|(_, entry)| (entry.page.clone(), Arc::clone(&entry.zone)))
    };
    if let Some((page, zone)) = found {
        return Some(respond(exchange, &zone, page));
    }
    let key = key_of(&name);
    let now = request.received.at_ms;
    // After a restart, the bundle may only be in a zone.
    let zones: Vec<_> = request.runtime().zone_list.iter().flatten().cloned().collect();
    for zone in zones {
        if let Some(page) = zone.zone.get(KeyRef::new(&key), |_, _| {}, now) {
            return Some(respond(exchange, &zone, page));
        }
        let file = zone.zone.seek(KeyRef::new(&key), |_, _| {});
        if let Some(mut reader) = file.and_then(|file| zone.zone.load(KeyRef::new(&key), file, now)) {
            return Some(PhaseStep::wait(async move |exchange: &mut Exchange| {
                poll_fn(|cx| reader.poll_end(cx, |_, _| {}).map(drop)).await;
                match zone.zone.get(KeyRef::new(&key), |_, _| {}, now) {
                    Some(page) => respond(exchange, &zone, page),
                    None => PhaseStep::Error(404),
                }
            }));
        }
    }
    None
}

/// Returns the name of the requested bundle: 32 hexadecimal digits and an extension; `None` for other paths, and for
/// methods other than GET and HEAD.
fn bundle_name(request: &Request) -> Option<String> {
    if !matches!(request.received.head.method(), Method::Get | Method::Head) {
        return None;
    }
    let name = request.sent_uri()?.strip_prefix(BUNDLE_FOLDER.as_bytes())?;
    let name = str::from_utf8(name).ok()?;
    let (digits, extension) = name.split_once('.')?;
    let is_digest = digits.len() == 32
        && digits.bytes().all(|digit| digit.is_ascii_digit() || (b'a'..=b'f').contains(&digit));
    (is_digest && matches!(extension, "css" | "js")).then(|| name.to_owned())
}

fn respond(exchange: &mut Exchange, zone: &Arc<PageZone>, page: Page) -> PhaseStep {
    let request = &mut exchange.request;
    let number = request
        .runtime()
        .zone_list
        .iter()
        .position(|known| known.as_ref().is_some_and(|known| Arc::ptr_eq(known, zone)));
    if let Some(number) = number {
        request.cache.report.zone = u16::try_from(number).unwrap_or(u16::MAX);
        request.cache.report.status = Some(CacheStatus::Hit);
        request.cache.report.stored = true;
        request.site.worker.counters.hits.add(1);
    }
    PhaseStep::Answer(page::answer(&exchange.request, zone, page))
}
