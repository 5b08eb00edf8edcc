//! Purges, as look-ups, fetches and sweeps ask them.
//!
//! ```text
//!   exact --> live: asked at look-ups, by fetches that end, by what is read from disk
//!   rule, all --> live --> swept: every stored object was asked
//!                   '---- no fetch from before it is left, no file that was not asked ----'--> retired
//! ```
//!
//! A purge has a number out of the sequence that also numbers fetches, so what it covers is what began before it,
//! whatever the clocks say. An object that no purge covers remembers the newest it was asked by: each costs one question.
//!
//! | file | what |
//! |---|---|
//! | `what` | what callers say and are told |

mod what;

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed, Ordering::SeqCst};

use parking_lot::RwLock;
use smallvec::SmallVec;
use xxhash_rust::xxh3::xxh3_128;

pub use what::{Count, Covered, Covers, MOST_RULE, Purge, PurgeError, Purged, Purging, Retired};

use crate::{Metadata, Object};

/// Most rules that wait for all pages to be asked: each look-up of an object asks all that are new to it.
const MOST_TESTS: usize = 1024;
/// Most keys and labels that are kept at once, some 50 bytes each.
const MOST_MARKS: usize = 1 << 18;

/// The newest purges of something, hard and soft; zero where there is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Numbers {
    pub(crate) hard: u64,
    pub(crate) soft: u64,
}

impl Numbers {
    pub(crate) fn note(&mut self, number: u64, purge: Purge) {
        let newest = match purge {
            Purge::Hard => &mut self.hard,
            Purge::Soft => &mut self.soft,
        };
        *newest = (*newest).max(number);
    }

    pub(crate) fn newest(self) -> u64 {
        self.hard.max(self.soft)
    }

    fn add(&mut self, other: Self) {
        self.hard = self.hard.max(other.hard);
        self.soft = self.soft.max(other.soft);
    }
}

/// A purge of what a rule covers, or of everything.
pub(crate) struct Test<M: Metadata> {
    pub(crate) name: Arc<str>,
    pub(crate) number: u64,
    pub(crate) purge: Purge,
    /// `None` covers everything.
    covers: Option<Covers<M>>,
    pub(crate) count: AtomicUsize,
}

impl<M: Metadata> Test<M> {
    fn covers(&self, key: &[u8], meta: &M) -> bool {
        self.covers.as_ref().is_none_or(|covers| covers(key, meta))
    }
}

/// A purge of keys and labels while what it covers is being counted.
pub(crate) struct Exact {
    pub(crate) number: u64,
    pub(crate) purge: Purge,
    pub(crate) keys: Box<[u128]>,
    /// Addresses among them.
    pub(crate) labels: Box<[u64]>,
    pub(crate) count: AtomicUsize,
}

impl Exact {
    fn covers(&self, key: Option<u128>, labels: &[u64]) -> bool {
        key.is_some_and(|key| self.keys.contains(&key))
            || labels.iter().any(|label| self.labels.contains(label))
    }
}

struct Live<M: Metadata> {
    keys: HashMap<u128, Numbers>,
    labels: HashMap<u64, Numbers>,
    /// The newest purges of labels that only a response tells, and of those that claims tell.
    newest_told: u64,
    newest_address: u64,
    /// In the order of their numbers.
    tests: Vec<Arc<Test<M>>>,
    counting: Vec<Arc<Exact>>,
}

/// The purges of a zone that are not retired.
pub(crate) struct Bans<M: Metadata> {
    /// The number of the newest, zero where there is none: most look-ups read nothing else.
    newest: AtomicU64,
    live: RwLock<Live<M>>,
}

impl<M: Metadata> Bans<M> {
    pub(crate) fn new() -> Self {
        let live = Live {
            keys: HashMap::new(),
            labels: HashMap::new(),
            newest_told: 0,
            newest_address: 0,
            tests: Vec::new(),
            counting: Vec::new(),
        };
        Self { newest: AtomicU64::new(0), live: RwLock::new(live) }
    }

    /// Adds a purge under the number that `sequence` gives: numbers and lists go up together.
    pub(crate) fn add_test(
        &self,
        sequence: &AtomicU64,
        name: &str,
        purge: Purge,
        covers: Option<Covers<M>>,
    ) -> Result<u64, PurgeError> {
        let mut live = self.live.write();
        if live.tests.len() >= MOST_TESTS {
            return Err(PurgeError::TooMany);
        }
        let number = sequence.fetch_add(1, SeqCst);
        live.tests.push(Arc::new(Test {
            name: name.into(),
            number,
            purge,
            covers,
            count: AtomicUsize::new(0),
        }));
        self.newest.store(number, SeqCst);
        Ok(number)
    }

    /// Adds a purge of keys and labels; it counts what it covers until [`Self::end_count`].
    pub(crate) fn add_exact(
        &self,
        sequence: &AtomicU64,
        purge: Purge,
        keys: &[u128],
        addresses: &[u64],
        told: &[u64],
    ) -> Result<Arc<Exact>, PurgeError> {
        let mut live = self.live.write();
        if live.keys.len() + live.labels.len() + keys.len() + addresses.len() + told.len() > MOST_MARKS {
            return Err(PurgeError::TooMany);
        }
        let number = sequence.fetch_add(1, SeqCst);
        for key in keys {
            live.keys.entry(*key).or_default().note(number, purge);
        }
        for label in addresses.iter().chain(told) {
            live.labels.entry(*label).or_default().note(number, purge);
        }
        if !told.is_empty() {
            live.newest_told = number;
        }
        if !addresses.is_empty() {
            live.newest_address = number;
        }
        let labels = addresses.iter().chain(told).copied().collect();
        let exact = Arc::new(Exact { number, purge, keys: keys.into(), labels, count: AtomicUsize::new(0) });
        live.counting.push(Arc::clone(&exact));
        self.newest.store(number, SeqCst);
        Ok(exact)
    }

    /// The count is told: what is found from now on is not part of it.
    pub(crate) fn end_count(&self, exact: &Exact) -> usize {
        self.live.write().counting.retain(|other| other.number != exact.number);
        exact.count.load(Relaxed)
    }

    /// Whether a purge is newer than `number`.
    #[inline]
    pub(crate) fn any_since(&self, number: u64) -> bool {
        self.newest.load(SeqCst) > number
    }

    /// Judges a stored object: what covers it makes it stale, or says that it must go, and is counted. It is asked by each
    /// purge once.
    #[cold]
    pub(crate) fn judge(&self, object: &Object<M>) -> Verdict {
        self.judge_object(object, true)
    }

    /// As [`Self::judge`], of an object that is about to be stored: it was not there to be purged.
    #[cold]
    pub(crate) fn judge_arriving(&self, object: &Object<M>) -> Verdict {
        self.judge_object(object, false)
    }

    fn judge_object(&self, object: &Object<M>, count: bool) -> Verdict {
        let live = self.live.read();
        let verdict = live.judge(object.asked_by(), object.key(), object.meta(), count);
        if verdict == Verdict::Stale {
            object.expire();
        }
        if verdict != Verdict::Goes {
            object.note_asked(self.newest.load(SeqCst));
        }
        verdict
    }

    /// What the purges after `since` say of a page, without being counted.
    pub(crate) fn look_at(&self, since: u64, key: &[u8], meta: &M) -> Verdict {
        if !self.any_since(since) {
            return Verdict::Stays;
        }
        self.live.read().judge(since, key, meta, false)
    }

    /// The rules that are not retired, in the order of their numbers.
    pub(crate) fn tests(&self) -> Vec<Arc<Test<M>>> {
        self.live.read().tests.clone()
    }

    /// Whether a flight that began at `generation` takes no newcomers: a purge covers it, or may, once there is a head.
    #[cold]
    pub(crate) fn may_cover(
        &self,
        generation: u64,
        key: crate::KeyRef<'_>,
        address: Option<[u64; 2]>,
        head: Option<&M>,
    ) -> bool {
        let live = self.live.read();
        let Some(head) = head else {
            let since = |numbers: Option<&Numbers>| numbers.is_some_and(|n| n.newest() > generation);
            return live.newest_told > generation
                || live.tests.last().is_some_and(|test| test.number > generation)
                || since(live.keys.get(&key.hash()))
                // Who does not say what it fetches may be fetching anything.
                || address.map_or(live.newest_address > generation, |address| {
                    address.iter().any(|label| since(live.labels.get(label)))
                });
        };
        live.judge(generation, key.bytes(), head, false) != Verdict::Stays
    }

    /// The newest purge that every object must be asked by, since no index finds what it covers; zero where there is none.
    pub(crate) fn newest_test(&self) -> u64 {
        self.live.read().tests.last().map_or(0, |test| test.number)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.newest.load(SeqCst) == 0
    }

    pub(crate) fn len(&self) -> usize {
        let live = self.live.read();
        live.tests.len() + live.keys.len() + live.labels.len()
    }

    /// Drops the purges with numbers below `below`: they have been asked about all there was before them.
    pub(crate) fn retire(&self, below: u64) -> Vec<Retired> {
        let mut live = self.live.write();
        let mut retired = Vec::new();
        live.tests.retain(|test| {
            if test.number < below {
                let count = test.count.load(Relaxed);
                retired.push(Retired { name: Arc::clone(&test.name), number: test.number, count });
            }
            test.number >= below
        });
        live.keys.retain(|_, numbers| numbers.newest() >= below);
        live.labels.retain(|_, numbers| numbers.newest() >= below);
        let marks = live.keys.values().chain(live.labels.values()).map(|numbers| numbers.newest());
        let newest = marks.chain(live.tests.last().map(|test| test.number)).max().unwrap_or(0);
        self.newest.store(newest, SeqCst);
        retired
    }
}

impl<M: Metadata> Live<M> {
    /// What the purges after `since` say of a page.
    fn judge(&self, since: u64, key: &[u8], meta: &M, count: bool) -> Verdict {
        let key_hash = (!self.keys.is_empty()).then(|| xxh3_128(key));
        let mut found = key_hash.and_then(|hash| self.keys.get(&hash)).copied().unwrap_or_default();
        let mut labels = SmallVec::<[u64; 8]>::new();
        if !self.labels.is_empty() {
            meta.labels(&mut |label| {
                if let Some(numbers) = self.labels.get(&label) {
                    found.add(*numbers);
                    labels.push(label);
                }
            });
        }
        let mut covering: SmallVec<[(u64, Purge, &AtomicUsize); 4]> = SmallVec::new();
        if found.newest() > since {
            let exact = self.counting.iter().filter(|exact| exact.number > since);
            let exact = exact.filter(|exact| exact.covers(key_hash, &labels));
            covering.extend(exact.map(|exact| (exact.number, exact.purge, &exact.count)));
        }
        let first_test = self.tests.partition_point(|test| test.number <= since);
        for test in self.tests[first_test..].iter().filter(|test| test.covers(key, meta)) {
            covering.push((test.number, test.purge, &test.count));
            if test.purge == Purge::Hard {
                break;
            }
        }
        covering.sort_unstable_by_key(|(number, ..)| *number);
        // What one has taken out is not there any more for those after it.
        let takes = covering.iter().position(|(_, purge, _)| *purge == Purge::Hard);
        if count {
            let counting = &covering[..takes.map_or(covering.len(), |takes| takes + 1)];
            for (_, _, count) in counting {
                count.fetch_add(1, Relaxed);
            }
        }
        if takes.is_some() || found.hard > since {
            Verdict::Goes
        } else if !covering.is_empty() || found.soft > since {
            Verdict::Stale
        } else {
            Verdict::Stays
        }
    }
}

/// What the purges say of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Stays,
    /// It stays, but is not fresh any more.
    Stale,
    Goes,
}

impl<M: Metadata> fmt::Debug for Bans<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bans").field("newest", &self.newest).finish_non_exhaustive()
    }
}
