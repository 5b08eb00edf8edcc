//! Pages that known visitors get only after a comparison by the origin (`compared` in `X-Myriad-ESI`).
//!
//! The origin reads the visitor while it creates such a page, and the result may or may not affect the page. It therefore
//! compares the page that it creates for a known visitor with the stored one. If both are equal except for the parts, its
//! response permits the stored page for all visitors of the same class (such as a role):
//!
//! ```text
//! known visitor -> stored page `compared`
//!     class of the visitor unknown, page permitted for some class   -> class requested together with the parts
//!     class of the visitor known, and page permitted for this class -> stored page with the visitor's parts
//!     otherwise, and once in SAMPLE_INTERVAL requests               -> origin
//!         X-Myriad-Visitor: class=C          -> class stored for the visitor, like a part
//!         X-Myriad-Visitor: class=C, same=V  -> in addition, version V of the page is permitted for C
//! ```
//!
//! A permission is for one version of the page: different content, or another word in `compared=`, requires a new
//! comparison. Noise is no different content. If an earlier version was permitted for a class, one visitor of the class
//! is compared, and the others wait for the result.

use std::cell::RefCell;
use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, RandomState};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use bytes::Bytes;
use myriad_base::bounded::Lru;
use myriad_exchange::exchange::Request;
use myriad_http::{Method, ResponseHead};
use myriad_store::page::RecentPurges;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

use super::part_store::{self, InFlight, NewPart};
use super::rules;
use super::visitor::Visitor;

/// Response field of the origin, specific to Myriad: the class of the visitor, and the version of the stored page to
/// which the response is equal.
const FIELD: &[u8] = b"x-myriad-visitor";
/// Key of the visitor's class among the visitor's parts. It is not a target of a part, which begins with a slash.
const CLASS: &[u8] = b"class";
/// Maximum length in bytes of the name of a class of visitors, and of the version of a page.
const MAX_WORD: usize = 96;
/// Interval of sampled comparisons: one in this number of requests for permitted pages goes to the origin, which
/// compares again, unless the last comparison of the page for the class was too recent. The pause is [`MIN_PAUSE_MS`]
/// at first, and is doubled after each comparison without a difference, up to [`MAX_PAUSE_MS`].
const SAMPLE_INTERVAL: u64 = 100;
/// Minimum time in milliseconds between the first comparison of a page for a class and the first sampled one.
const MIN_PAUSE_MS: u64 = 10_000;
/// Maximum of [`Permission::pause_ms`] in milliseconds: from this pause on, further comparisons without a difference do
/// not extend the pause.
const MAX_PAUSE_MS: u64 = 600_000;
/// Maximum number of permissions that are stored, each for one version of a page and one class of visitors.
const PERMISSIONS: u64 = 65_536;
/// Maximum time for which a request waits for comparisons of other visitors.
const MAX_WAIT: Duration = Duration::from_secs(5);

/// Permission for a class of visitors to get a version of a stored page.
#[derive(Clone, Copy)]
struct Permission {
    /// Time of the last request that caused a comparison or was sampled for one, in milliseconds since the epoch.
    compared_ms: u64,
    /// Minimum time until the next sampled comparison, in milliseconds.
    pause_ms: u64,
}

impl Permission {
    /// Returns the permission after a comparison without a difference, which a request at `compared_ms` caused.
    fn renewed(earlier: Option<&Self>, compared_ms: u64) -> Self {
        let pause_ms = match earlier {
            // `is_due` has set the time to that of the sampled request. If it differs, another request caused this
            // comparison, and the pause does not change.
            Some(earlier) if earlier.compared_ms != compared_ms => earlier.pause_ms,
            Some(earlier) => earlier.pause_ms.saturating_mul(2).min(MAX_PAUSE_MS),
            None => MIN_PAUSE_MS,
        };
        Self { compared_ms, pause_ms }
    }

    /// Returns whether the pause since the last comparison is over at `now`; if so, records `now` as the time of the
    /// last comparison.
    fn is_due(&mut self, now: u64) -> bool {
        let is_due = now.saturating_sub(self.compared_ms) >= self.pause_ms;
        if is_due {
            self.compared_ms = now;
        }
        is_due
    }
}

/// Results of comparisons in this process. The keys are hashes with a random seed.
struct Results {
    seed: RandomState,
    /// Permissions, by a hash of page, version and class of visitors.
    permitted: Mutex<Lru<u64, Permission>>,
    /// Versions of pages that are permitted for at least one class, and pairs of a page and a class for which at least
    /// one version of the page is permitted.
    seen: Mutex<Lru<u64, ()>>,
    /// Comparisons in progress of pages that were permitted before, by page and class.
    running: Mutex<HashMap<u64, Arc<Notify>>>,
}

static RESULTS: LazyLock<Results> = LazyLock::new(|| Results {
    seed: RandomState::new(),
    permitted: Mutex::new(Lru::new(PERMISSIONS)),
    seen: Mutex::new(Lru::new(2 * PERMISSIONS)),
    running: Mutex::default(),
});
/// Number of requests of known visitors for pages that are permitted for their class, since the start of the process.
static SERVED: AtomicU64 = AtomicU64::new(0);

/// Guard of a comparison for whose result other visitors of the same class may wait. Dropping it wakes the waiting
/// requests.
struct AwaitedComparison {
    page_of_class: u64,
}

impl Drop for AwaitedComparison {
    fn drop(&mut self) {
        if let Some(waiting) = RESULTS.running.lock().remove(&self.page_of_class) {
            waiting.notify_waiters();
        }
    }
}

/// Request of a known visitor that goes to the origin for a comparison.
struct Comparison {
    visitor: Visitor,
    /// Guard of the request: the class is not stored if the visitor's content may have changed meanwhile.
    in_flight: InFlight,
    /// Guard that wakes the requests of other visitors that wait for the result; `None` if none can wait.
    awaited: Option<AwaitedComparison>,
}

/// State of a request: the comparison for which it goes to the origin, if any.
#[derive(Default)]
struct PendingComparison(RefCell<Option<Comparison>>);

/// Result of [`check`]: the response that a known visitor gets for a page that requires a comparison.
pub(super) enum Access {
    /// The visitor gets the stored page without a new comparison.
    Permitted,
    /// The request goes to the origin for a comparison ([`begin`]).
    Compared(NextComparison),
}

/// Comparison to begin, with the guard for other visitors that wait for the result; `None` if no other visitor waits.
#[derive(Default)]
pub(super) struct NextComparison(Option<AwaitedComparison>);

/// Returns the class of a visitor, from a response to [`begin`] or, under the key `target`, from a request for parts.
/// `None` if it is not stored. It is empty if the origin compares no page for the visitor.
pub(super) fn stored_class(request: &Request, visitor: &Visitor, target: Option<&[u8]>) -> Option<Bytes> {
    let keys = [Some(CLASS), target].into_iter().flatten();
    part_store::get(visitor, keys, request.received.at_ms).into_iter().flatten().next()
}

/// Returns whether a version of a stored page is permitted for some class of visitors.
pub(super) fn is_permitted_for_some(request: &Request, version: &str) -> bool {
    let version = RESULTS.version(request, version.as_bytes());
    RESULTS.seen.lock().get(&version).is_some()
}

/// Returns whether visitors of a class get a stored page that requires a comparison: this version of the page is
/// permitted for the class, and the request is not sampled for another comparison. Otherwise the request goes to the
/// origin, and [`check_response`] handles the result. Without a class (`None` or an invalid name), the request goes to
/// the origin.
///
/// If another visitor of the class is being compared for the page, a GET request waits for the result, for [`MAX_WAIT`]
/// at most; but only if an earlier version of the page was permitted for the class.
pub(super) async fn check(request: &Request, class: Option<&[u8]>, version: &str) -> Access {
    let now = request.received.at_ms;
    let Some(class) = class.filter(|class| is_word(class)) else {
        return Access::Compared(NextComparison::default());
    };
    let permission = RESULTS.permission(request, version.as_bytes(), class);
    let page_of_class = RESULTS.page_of_class(request, class);
    let mut until = None;
    loop {
        if let Some(is_sample) = RESULTS.serve(permission, now) {
            return if is_sample { Access::Compared(NextComparison::default()) } else { Access::Permitted };
        }
        // Without a permission for an earlier version, the result is probably a difference, so that waiting is useless.
        let may_wait = request.received.head.method() == Method::Get
            && RESULTS.seen.lock().get(&page_of_class).is_some();
        if !may_wait {
            return Access::Compared(NextComparison::default());
        }
        if let Some(next) = next_comparison(page_of_class, &mut until).await {
            return Access::Compared(next);
        }
    }
}

/// Returns the comparison that a request begins: an awaited one if none is in progress for the page and class. Otherwise
/// waits for that comparison, and returns `None` after it. `until` is the time limit for all waits of the request,
/// which the first one sets; after it, returns a comparison for which no other request waits.
async fn next_comparison(page_of_class: u64, until: &mut Option<Instant>) -> Option<NextComparison> {
    let other = {
        let mut running = RESULTS.running.lock();
        let Some(other) = running.get(&page_of_class) else {
            running.insert(page_of_class, Arc::default());
            return Some(NextComparison(Some(AwaitedComparison { page_of_class })));
        };
        Arc::clone(other).notified_owned()
    };
    let until = *until.get_or_insert_with(|| Instant::now() + MAX_WAIT);
    timeout_at(until, other).await.is_err().then(NextComparison::default)
}

/// Prepares a known visitor's request that goes to the origin for a comparison. `purges` are the purges of the cache
/// zone.
pub(super) fn begin(
    request: &Request,
    visitor: Visitor,
    purges: &Arc<RecentPurges>,
    NextComparison(awaited): NextComparison,
) {
    let in_flight = part_store::begin(&visitor, purges);
    let pending = request.outcome.feature_state.get_or_make(PendingComparison::default);
    *pending.0.borrow_mut() = Some(Comparison { visitor, in_flight, awaited });
}

/// Stores the class of the visitor and the permission that a response to a request of [`begin`] contains. A response
/// without a permission (no class or no version) releases the requests of other visitors that wait for this page and
/// class: they are sent to the origin. Does nothing for other requests.
pub(crate) fn check_response(request: &Request, head: &ResponseHead) {
    // Only responses to requests of `begin` are searched.
    let Some(pending) = request.outcome.feature_state.get::<PendingComparison>() else { return };
    let Some(Comparison { visitor, in_flight, awaited }) = pending.0.borrow_mut().take() else {
        return;
    };
    let value = head.fields.get(FIELD).unwrap_or_default();
    let word = |name: &[u8]| {
        let mut words = value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
        words.find_map(|word| word.strip_prefix(name)).filter(|word| is_word(word))
    };
    let (class, version) = (word(b"class="), word(b"same="));
    if let (Some(class), Some(version)) = (class, version) {
        RESULTS.permit(request, version, class);
    } else if let Some(awaited) = &awaited {
        // Requests that wait for the result are then sent to the origin.
        RESULTS.seen.lock().remove(&awaited.page_of_class);
    }
    let (Some(class), Some(rules)) = (class, rules::of(request)) else { return };
    let until_ms = myriad_net::clock::now_ms().saturating_add(rules.private.valid_ms);
    let part =
        NewPart { target: CLASS, bytes: Bytes::copy_from_slice(class), until_ms, labels: Arc::default() };
    part_store::store_part(&visitor, &in_flight, part, rules.private);
}

impl Results {
    fn hash(&self, kind: &str, parts: impl Hash) -> u64 {
        self.seed.hash_one((kind, parts))
    }

    /// Returns the hash of a version of the requested page and a class of visitors.
    fn permission(&self, request: &Request, version: &[u8], class: &[u8]) -> u64 {
        self.hash("permission", (page_of(request), version, class))
    }

    fn version(&self, request: &Request, version: &[u8]) -> u64 {
        self.hash("version", (page_of(request), version))
    }

    fn page_of_class(&self, request: &Request, class: &[u8]) -> u64 {
        self.hash("page of class", (page_of(request), class))
    }

    /// Returns whether a request with this permission is sampled for another comparison; `None` without the permission.
    fn serve(&self, permission: u64, now: u64) -> Option<bool> {
        let mut permitted = self.permitted.lock();
        let permission = permitted.get_mut(&permission)?;
        let is_sample =
            SERVED.fetch_add(1, Relaxed) % SAMPLE_INTERVAL == SAMPLE_INTERVAL - 1 && permission.is_due(now);
        Some(is_sample)
    }

    /// Stores the permission after a comparison without a difference.
    fn permit(&self, request: &Request, version: &[u8], class: &[u8]) {
        let compared_ms = request.received.at_ms;
        let permission = self.permission(request, version, class);
        let mut permitted = self.permitted.lock();
        let renewed = Permission::renewed(permitted.get(&permission), compared_ms);
        permitted.insert(permission, renewed, 1);
        drop(permitted);
        let mut seen = self.seen.lock();
        seen.insert(self.version(request, version), (), 1);
        seen.insert(self.page_of_class(request, class), (), 1);
    }
}

/// Returns the host, scheme and target of the requested page.
fn page_of(request: &Request) -> (&[u8], &str, &[u8]) {
    (&request.route.host, request.scheme(), request.received.head.target())
}

fn is_word(word: &[u8]) -> bool {
    (1..=MAX_WORD).contains(&word.len())
        && word.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_without_differences_is_compared_less_and_less_often() {
        let mut permission = Permission::renewed(None, 1_000);
        let mut samples = Vec::new();
        for now in (1_000..7_200_000).step_by(1_000) {
            if permission.is_due(now) {
                permission = Permission::renewed(Some(&permission), now);
                samples.push(now / 1_000);
            }
        }
        assert_eq!(samples[..7], [11, 31, 71, 151, 311, 631, 1231]);
        assert!(samples[7..].windows(2).all(|pair| pair[1] - pair[0] == MAX_PAUSE_MS / 1_000));
        // A comparison that another request had begun before.
        let other = Permission::renewed(Some(&permission), permission.compared_ms + 1);
        assert_eq!(other.pause_ms, permission.pause_ms);
    }

    #[test]
    fn all_waits_of_a_request_have_one_time_limit() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
        let (page_of_class, start) = (1, Instant::now());
        let next = |until: &mut Option<Instant>| runtime.block_on(next_comparison(page_of_class, until));
        let first = next(&mut None).expect("a comparison");
        let without_result = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(50));
            drop(first);
        });
        let mut until = None;
        assert!(next(&mut until).is_none() && until.is_some());
        without_result.join().expect("a thread");
        let second = next(&mut None);
        assert!(second.as_ref().is_some_and(|next| next.0.is_some()), "another request begins a comparison");
        until = Some(start);
        assert!(next(&mut until).is_some_and(|next| next.0.is_none()), "the time limit has passed");
        assert!(until == Some(start) && start.elapsed() < MAX_WAIT);
    }

    #[test]
    fn version_of_any_declared_word_is_accepted() {
        let declared = "a_b-C".repeat(12);
        assert!(is_word(format!("1732886400000-{declared}").as_bytes()));
        for word in [&b""[..], b"a b", b"a,b", &[b'a'; MAX_WORD + 1]] {
            assert!(!is_word(word));
        }
    }
}
