//! Check of the files from which an optimized form was made.

use std::sync::LazyLock;
use std::sync::atomic::Ordering::Relaxed;

use myriad_base::bounded::Lru;
use myriad_exchange::exchange::Exchange;
use myriad_net::clock::now_ms;
use myriad_store::page::{FileVersion, OptimizedState, Page};
use parking_lot::Mutex;
use xxhash_rust::xxh3::Xxh3Default;

use super::own_resources::version;
use crate::journey_step::CacheContext;

/// Maximum number of files whose versions are stored.
const REMEMBERED: u64 = 8_192;

/// Versions of files, with the time until which they are used (in milliseconds since the epoch), by a hash of scheme,
/// server, host, path and query. Pages share most of their files.
static VERSIONS: LazyLock<Mutex<Lru<u64, (u64, u64)>>> = LazyLock::new(|| Mutex::new(Lru::new(REMEMBERED)));

/// Compares the files of a page's optimized form with those on disk. If one has changed, the form is not used any more:
/// the next request gets the original page, and starts the making of a new form.
pub(super) fn start(exchange: &Exchange, cached: CacheContext<'_>, page: &Page) {
    let (mut exchange, page) = (exchange.snapshot(), page.clone());
    let held = cached.to_owned();
    tokio::task::spawn_local(Box::pin(async move {
        let Some(form) = page.replacement() else { return };
        for file in form.state().files() {
            let current = current_version(&mut exchange, file).await;
            if current.is_some_and(|current| current != file.version) {
                form.state().revoke();
                held.cache.zone.optimized.revoked.fetch_add(1, Relaxed);
                break;
            }
        }
    }));
}

/// Returns the current version of a file, which is stored for a short time; `None` if the version cannot be determined
/// now ([`version`]).
async fn current_version(exchange: &mut Exchange, file: &FileVersion) -> Option<u64> {
    let mut hash = Xxh3Default::new();
    let request = &exchange.request;
    hash.update(request.scheme().as_bytes());
    hash.update(&(std::ptr::from_ref(request.server()) as usize).to_le_bytes());
    hash.update(&request.route.host);
    hash.update(b"\0");
    hash.update(&file.target);
    let key = hash.digest();
    let now = now_ms();
    let known = VERSIONS.lock().get(&key).copied();
    if let Some((version, until)) = known
        && now < until
    {
        return Some(version);
    }
    let version = version(exchange, &file.target).await?;
    VERSIONS.lock().insert(key, (version, now + OptimizedState::CHECK_MS / 2), 1);
    Some(version)
}
