//! `No-Vary-Search` rules that origins have sent, by path, and the removal of ignored arguments from cache keys.

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};

use myriad_base::bounded::Lru;
use myriad_policy::NoVarySearch;
use parking_lot::Mutex;

use crate::exchange::Request;
use crate::runtime::CachePlace;

/// Maximum number of paths for which a `No-Vary-Search` rule is stored; the least recently used are dropped. A rule has
/// at most some kilobytes.
const PATHS: u64 = 4096;

/// `No-Vary-Search` rules of the process, by hash of cache zone, host and path. They survive reloads.
static RULES: LazyLock<Mutex<Lru<u64, Arc<NoVarySearch>>>> = LazyLock::new(|| Mutex::new(Lru::new(PATHS)));
/// Seed of the hashes by which the rules are stored, so that clients cannot produce collisions.
static SEED: LazyLock<RandomState> = LazyLock::new(RandomState::new);
/// Set once a `No-Vary-Search` rule has been stored. Before that, look-ups are skipped.
static ANY: AtomicBool = AtomicBool::new(false);

/// Stores the `No-Vary-Search` rule of a response that is being stored, for its path. If `rule` is `None`, because the
/// response has none, removes the rule stored for the path. Does nothing unless `cache_no_vary_search` is on.
pub fn learn(request: &Request, cache: &CachePlace, rule: Option<NoVarySearch>) {
    if !cache.no_vary_search || rule.is_none() && !ANY.load(Ordering::Relaxed) {
        return;
    }
    let Some((path, _)) = parts(request) else { return };
    let path = identity(request, cache, path);
    let mut rules = RULES.lock();
    match rule {
        Some(rule) => {
            ANY.store(true, Ordering::Relaxed);
            rules.insert(path, Arc::new(rule), 1);
        }
        None => drop(rules.remove(&path)),
    }
}

/// Removes the arguments that the path's `No-Vary-Search` rule ignores from the query of a cache key, which is the text
/// after its first `?`. Does nothing if `cache_no_vary_search` is off, if the path has no rule, or if the query in the
/// key contains anything that is not an argument of the request.
pub(super) fn remove_ignored_args(request: &Request, cache: &CachePlace, key: &mut Vec<u8>) {
    if !cache.no_vary_search || !ANY.load(Ordering::Relaxed) {
        return;
    }
    let Some((path, sent)) = parts(request).filter(|(_, query)| !query.is_empty()) else { return };
    let Some(at) = key.iter().position(|byte| *byte == b'?') else { return };
    let rule = RULES.lock().get_mut(&identity(request, cache, path)).map(|rule| Arc::clone(rule));
    let Some(rule) = rule else { return };
    let query = &key[at + 1..];
    let mut arguments = query.split(|byte| *byte == b'&');
    if !arguments
        .all(|argument| argument.is_empty() || sent.split(|byte| *byte == b'&').any(|one| one == argument))
    {
        return;
    }
    let canonical = rule.canonical(query);
    key.truncate(if canonical.is_empty() { at } else { at + 1 });
    key.extend_from_slice(&canonical);
}

/// Returns the path and the query (without `?`, empty if there is none) as the client sent them; `None` if the request
/// target has no path.
fn parts(request: &Request) -> Option<(&[u8], &[u8])> {
    let sent = request.sent_uri()?;
    let at = sent.iter().position(|byte| *byte == b'?').unwrap_or(sent.len());
    Some((&sent[..at], sent.get(at + 1..).unwrap_or_default()))
}

fn identity(request: &Request, cache: &CachePlace, path: &[u8]) -> u64 {
    SEED.hash_one((cache.zone.zone.name(), &*request.route.host, path))
}
