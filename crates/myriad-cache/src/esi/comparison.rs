//! Pages that known visitors get only after a comparison by the origin (`compared` in `X-Myriad-ESI`).
//!
//! The origin reads data of the visitor while it creates such a page, and the result may or may not affect the page. It
//! therefore compares the page that it creates for a known visitor with the stored one. If both are equal except for
//! the parts, its response permits the stored page for all visitors of the same class (such as a role):
//!
//! ```text
//! known visitor -> stored page `compared`
//!     class of the visitor known, and page permitted for this class -> stored page with the visitor's parts
//!     otherwise, and once in SAMPLE_INTERVAL requests               -> origin
//!         X-Myriad-Visitor: class=C          -> class stored for the visitor, like a part
//!         X-Myriad-Visitor: class=C, same=V  -> in addition, version V of the page is permitted for C
//! ```
//!
//! A permission is for one version of the page: different content, or another word in `compared=`, requires a new
//! comparison. Noise is no different content.

use std::cell::RefCell;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, LazyLock};

use bytes::Bytes;
use myriad_base::bounded::Lru;
use myriad_exchange::exchange::Request;
use myriad_http::ResponseHead;
use myriad_store::page::RecentPurges;
use parking_lot::Mutex;

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
/// One in this number of requests for permitted pages goes to the origin, which compares again, if the last comparison
/// of the page is older than [`MIN_SAMPLE_AGE_MS`].
const SAMPLE_INTERVAL: u64 = 100;
/// Minimum time in milliseconds between a comparison and a further one for the same page and class.
const MIN_SAMPLE_AGE_MS: u64 = 10_000;
/// Maximum number of permissions that are stored, each for one version of a page and one class of visitors.
const PERMISSIONS: u64 = 65_536;

/// Times of the last comparison, in milliseconds, of each stored page for each class of visitors that may get it, by a
/// hash of page, version and class with a random seed.
static PERMITTED: LazyLock<(RandomState, Mutex<Lru<u64, u64>>)> =
    LazyLock::new(|| (RandomState::new(), Mutex::new(Lru::new(PERMISSIONS))));
/// Number of requests of known visitors for pages that are permitted for their class.
static SERVED: AtomicU64 = AtomicU64::new(0);

/// Request of a known visitor that goes to the origin for a comparison.
struct Comparison {
    visitor: Visitor,
    /// Guard of the request: the class is not stored if the visitor's content may have changed meanwhile.
    in_flight: InFlight,
}

/// State of a request: the comparison for which it goes to the origin, if any.
#[derive(Default)]
struct PendingComparison(RefCell<Option<Comparison>>);

/// Returns whether a known visitor gets a stored page that requires a comparison: the class of the visitor is known,
/// and `version` of the page is permitted for this class. Once in [`SAMPLE_INTERVAL`] requests it returns false
/// nevertheless. Then the request goes to the origin, and [`check_response`] handles the result.
pub(super) fn may_get(request: &Request, visitor: &Visitor, version: &str) -> bool {
    let now = request.received.at_ms;
    let class = part_store::get(visitor, std::iter::once(CLASS), now).into_iter().flatten().next();
    let Some(class) = class else { return false };
    let mut permitted = PERMITTED.1.lock();
    let Some(compared) = permitted.get_mut(&permission(request, version.as_bytes(), &class)) else {
        return false;
    };
    let is_sample = SERVED.fetch_add(1, Relaxed) % SAMPLE_INTERVAL == SAMPLE_INTERVAL - 1
        && now.saturating_sub(*compared) >= MIN_SAMPLE_AGE_MS;
    if is_sample {
        *compared = now;
    }
    !is_sample
}

/// Prepares a known visitor's request that goes to the origin for a comparison. `purges` are those of the zone.
pub(super) fn begin(request: &Request, visitor: Visitor, purges: &Arc<RecentPurges>) {
    let in_flight = part_store::begin(&visitor, purges);
    let pending = request.outcome.feature_state.get_or_make(PendingComparison::default);
    *pending.0.borrow_mut() = Some(Comparison { visitor, in_flight });
}

/// Stores the class of the visitor and the permission that a response to a request of [`begin`] contains.
pub(crate) fn check_response(request: &Request, head: &ResponseHead) {
    // Most responses are for other requests, and their fields are not searched.
    let Some(pending) = request.outcome.feature_state.get::<PendingComparison>() else { return };
    let Some(value) = head.fields.get(FIELD) else { return };
    let (Some(Comparison { visitor, in_flight }), Some(rules)) =
        (pending.0.borrow_mut().take(), rules::of(request))
    else {
        return;
    };
    let word = |name: &[u8]| {
        let mut words = value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
        words.find_map(|word| word.strip_prefix(name)).filter(|word| is_word(word))
    };
    let Some(class) = word(b"class=") else { return };
    let until_ms = myriad_net::clock::now_ms().saturating_add(rules.private.valid_ms);
    let part =
        NewPart { target: CLASS, bytes: Bytes::copy_from_slice(class), until_ms, labels: Arc::default() };
    part_store::store_part(&visitor, &in_flight, part, rules.private);
    if let Some(version) = word(b"same=") {
        PERMITTED.1.lock().insert(permission(request, version, class), request.received.at_ms, 1);
    }
}

/// Returns the hash of a version of the requested page and a class of visitors.
fn permission(request: &Request, version: &[u8], class: &[u8]) -> u64 {
    let page = (&request.route.host, request.scheme(), request.received.head.target());
    PERMITTED.0.hash_one((page, version, class))
}

fn is_word(word: &[u8]) -> bool {
    (1..=MAX_WORD).contains(&word.len())
        && word.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_of_any_declared_word_is_accepted() {
        let declared = "a_b-C".repeat(12);
        assert!(is_word(format!("1732886400000-{declared}").as_bytes()));
        for word in [&b""[..], b"a b", b"a,b", &[b'a'; MAX_WORD + 1]] {
            assert!(!is_word(word));
        }
    }
}
