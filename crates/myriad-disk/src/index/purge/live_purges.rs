//! Active purges of a zone. Look-ups, completed fetches and background checks consult them.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed, Ordering::SeqCst};

use parking_lot::{Mutex, RwLock};

use super::active_purges::{ActivePurges, LiveRule};
use super::exact::{ExactPurge, PurgeNumbers};
use super::purge_set::PurgeSet;
use super::record::{PurgeRecord, RulePurge};
use super::request::{FinishedPurge, PurgeError, PurgeKind};
use super::verdict::{PurgeVerdict, Purgeable, SoftPurgedPage};
use crate::index::{FileName, HashedKeyRef, KeyRef, Metadata, PurgePredicate, Seed};

/// Number of active purges by rule from which further ones are refused; those of the log and of other processes are
/// always activated. Each look-up of an object evaluates all rules that are newer than the object's last check.
const MAX_RULES: usize = 1024;
/// Maximum number of active purged keys and labels, about 50 bytes each, beyond which further purges are refused; those
/// of the log and of other processes are always activated.
const MAX_EXACT: usize = 1 << 18;
/// Divisor of [`MAX_RULES`] and [`MAX_EXACT`]: from half of either number on, slow fetches are prevented from storing
/// their pages, so that purges which are active only for these fetches can be removed.
const CROWDED_DIVISOR: usize = 2;

/// Active purges of a zone. A purge is active until [`Self::retire`] removes it.
pub struct LivePurges<M: Metadata> {
    /// Number of the newest active purge, or 0. Most look-ups read only this field.
    newest: AtomicU64,
    in_force: RwLock<ActivePurges<M>>,
    /// Pages in memory that soft purges covered since the last [`Self::take_softened`]. Remains empty without a disk
    /// tier. No other lock is taken while this is locked.
    softened: Mutex<Vec<SoftPurgedPage>>,
    has_disk: AtomicBool,
}

/// Addition and removal of purges.
impl<M: Metadata> LivePurges<M> {
    /// Creates an empty set for a zone whose keys are hashed with `seed`.
    pub fn new(seed: Seed) -> Self {
        Self {
            newest: AtomicU64::new(0),
            in_force: RwLock::new(ActivePurges::new(seed)),
            softened: Mutex::default(),
            has_disk: AtomicBool::new(false),
        }
    }

    /// Changes the seed of key hashes. Must be called before the first purge of a key.
    pub fn set_seed(&self, seed: Seed) {
        self.in_force.write().seed = seed;
    }

    /// Enables the recording of pages covered by soft purges, for the disk tier ([`Self::take_softened`]).
    pub fn record_softened(&self) {
        self.has_disk.store(true, SeqCst);
    }

    /// Removes and returns the pages in memory that soft purges have covered since the last call.
    pub fn take_softened(&self) -> Vec<SoftPurgedPage> {
        std::mem::take(&mut self.softened.lock())
    }

    /// Adds a purge by rule, or of everything if `rule` is `None`, with the next number of `sequence`. Returns its log
    /// record, or `TooMany` if [`MAX_RULES`] are active.
    pub fn add_rule(
        &self,
        sequence: &AtomicU64,
        name: &str,
        purge: PurgeKind,
        rule: Option<(&[u8], PurgePredicate<M>)>,
    ) -> Result<PurgeRecord, PurgeError> {
        let mut in_force = self.in_force.write();
        let (rule, covers) =
            rule.map_or((None, None), |(rule, covers)| (Some(Box::from(rule)), Some(covers)));
        let former = in_force.take_repeated(purge, name, rule.as_deref());
        if in_force.rules.len() >= MAX_RULES {
            return Err(PurgeError::TooMany);
        }
        let number = sequence.fetch_add(1, SeqCst);
        let record = RulePurge { number, purge, name: name.into(), rule };
        let live = LiveRule::new(&record, covers);
        live.count.store(former, Relaxed);
        in_force.rules.push(live);
        self.newest.store(number, SeqCst);
        Ok(PurgeRecord::Rule(record))
    }

    /// Adds a purge of keys, of `addresses` (labels known before the response) and of other `labels`, with the next
    /// number of `sequence`. It counts pages until [`Self::end_count`]. Returns `TooMany` if [`MAX_EXACT`] would be
    /// exceeded.
    pub fn add_exact(
        &self,
        sequence: &AtomicU64,
        purge: PurgeKind,
        keys: &[KeyRef<'_>],
        addresses: &[u64],
        labels: &[u64],
    ) -> Result<Arc<ExactPurge>, PurgeError> {
        let mut in_force = self.in_force.write();
        let stored_count = in_force.keys.len() + in_force.labels.len();
        if stored_count + keys.len() + addresses.len() + labels.len() > MAX_EXACT {
            return Err(PurgeError::TooMany);
        }
        let number = sequence.fetch_add(1, SeqCst);
        let hashes: Box<[u128]> = keys.iter().map(|key| in_force.seed.hash(key.bytes())).collect();
        for key in &hashes {
            in_force.keys.entry(*key).or_default().note(number, purge);
        }
        for label in addresses.iter().chain(labels) {
            in_force.labels.entry(*label).or_default().note(number, purge);
        }
        if !labels.is_empty() {
            in_force.newest_label = number;
        }
        if !addresses.is_empty() {
            in_force.newest_address = number;
        }
        in_force.note_exact(number);
        let labels = addresses.iter().chain(labels).copied().collect();
        let named = keys.iter().filter(|_| self.has_disk.load(SeqCst));
        let names = named.map(|key| FileName::of_key(key.bytes())).collect();
        let exact =
            Arc::new(ExactPurge { number, purge, keys: hashes, names, labels, count: AtomicUsize::new(0) });
        in_force.counting.push(Arc::clone(&exact));
        self.newest.store(number, SeqCst);
        Ok(exact)
    }

    /// Activates the logged purges of former runs (`book`), or a purge of everything if some were lost (`is_lost`).
    /// Purges made by this run before get new numbers, above all numbers in the folder, because they cover its pages
    /// too. Returns the renumbered and new purges, which must be logged.
    pub fn begin(&self, sequence: &AtomicU64, book: &PurgeSet, is_lost: bool) -> Vec<PurgeRecord> {
        let mut in_force = self.in_force.write();
        let number = sequence.fetch_add(1, SeqCst);
        let mut early = in_force.renumber(number);
        for rule in &mut in_force.rules {
            rule.number = sequence.fetch_add(1, SeqCst);
            early.push(rule.record());
        }
        if is_lost {
            let number = sequence.fetch_add(1, SeqCst);
            let name = "all (logged purges were lost)".into();
            let all = RulePurge { number, purge: PurgeKind::Hard, name, rule: None };
            in_force.rules.push(LiveRule::new(&all, None));
            early.push(PurgeRecord::Rule(all));
        }
        for (key, numbers) in &book.keys {
            in_force.keys.entry(*key).or_default().add(*numbers);
        }
        for (label, numbers) in &book.labels {
            in_force.labels.entry(*label).or_default().add(*numbers);
        }
        in_force.rules.splice(0..0, book.rules.iter().map(LiveRule::read));
        in_force.measure();
        self.newest.store(in_force.newest(), SeqCst);
        early
    }

    /// Activates purges that another process has logged, for all pages fetched before now, and returns them with the
    /// numbers of this process. They count no pages.
    pub fn adopt(&self, sequence: &AtomicU64, news: &PurgeSet) -> PurgeSet {
        let mut in_force = self.in_force.write();
        let number = sequence.fetch_add(1, SeqCst);
        let renumber = |numbers: &PurgeNumbers| {
            let new = |former: u64| if former > 0 { number } else { 0 };
            PurgeNumbers { hard: new(numbers.hard), soft: new(numbers.soft) }
        };
        let mut book = PurgeSet::default();
        for (key, numbers) in &news.keys {
            book.keys.insert(*key, renumber(numbers));
            in_force.keys.entry(*key).or_default().add(renumber(numbers));
        }
        for (label, numbers) in &news.labels {
            book.labels.insert(*label, renumber(numbers));
            in_force.labels.entry(*label).or_default().add(renumber(numbers));
        }
        if !news.labels.is_empty() {
            (in_force.newest_label, in_force.newest_address) = (number, number);
        }
        in_force.note_exact(number);
        let mut newest = number;
        for rule in &news.rules {
            newest = sequence.fetch_add(1, SeqCst);
            let rule = RulePurge { number: newest, ..rule.clone() };
            let mut live = LiveRule::read(&rule);
            live.count_reported = true;
            in_force.rules.push(live);
            book.rules.push(rule);
        }
        self.newest.store(newest, SeqCst);
        book
    }

    /// Records the time from which the pages of soft purge `number` are stale, in milliseconds since the epoch. At most
    /// [`MAX_EXACT`] times are stored; the oldest is dropped, and then counts as 0.
    pub fn note_stale_from(&self, number: u64, from: u64) {
        let mut in_force = self.in_force.write();
        in_force.stale_from.insert(number, from);
        if in_force.stale_from.len() > MAX_EXACT {
            in_force.stale_from.pop_first();
        }
    }

    /// Removes purges with numbers below `below`, because no page fetched earlier can appear any more. Rules remain
    /// until their count has been reported.
    pub fn retire(&self, below: u64) {
        if self.in_force.read().oldest_is_at_least(below) {
            return;
        }
        let mut in_force = self.in_force.write();
        in_force.rules.retain(|rule| rule.number >= below || !rule.count_reported);
        in_force.keys.retain(|_, numbers| numbers.newest() >= below);
        in_force.labels.retain(|_, numbers| numbers.newest() >= below);
        in_force.stale_from = in_force.stale_from.split_off(&below);
        in_force.measure();
        self.newest.store(in_force.newest(), SeqCst);
    }
}

/// Counts of the pages that purges have covered.
impl<M: Metadata> LivePurges<M> {
    /// Stops counting the pages of a purge, and returns the number of pages that it covered.
    pub fn end_count(&self, exact: &ExactPurge) -> usize {
        self.in_force.write().counting.retain(|other| other.number != exact.number);
        exact.count.load(Relaxed)
    }

    /// Adds `count` pages, removed or made stale by their key or labels, to the oldest purge of this kind that names
    /// them and is still counting.
    pub fn note_found(&self, key: Option<u128>, labels: &[u64], purge: PurgeKind, count: usize) {
        let in_force = self.in_force.read();
        let mut counting = in_force.counting.iter().filter(|exact| exact.purge == purge);
        if let Some(exact) = counting.find(|exact| exact.covers(key, labels)) {
            exact.count.fetch_add(count, Relaxed);
        }
    }

    /// Returns true if a purge of keys or labels is still counting pages.
    pub fn is_counting(&self) -> bool {
        !self.in_force.read().counting.is_empty()
    }

    /// Returns the rules whose counts have not been reported, ordered by number, with their current counts.
    pub fn unreported(&self) -> Vec<FinishedPurge> {
        let in_force = self.in_force.read();
        in_force.rules.iter().filter(|rule| !rule.count_reported).map(LiveRule::finished).collect()
    }

    /// Returns the rules with numbers up to `upto` whose counts have not been reported, and marks them as reported.
    /// Must be called once all pages fetched before have been checked.
    pub fn take_finished(&self, upto: u64) -> Vec<FinishedPurge> {
        if self.in_force.read().rules.iter().all(|rule| rule.count_reported || rule.number > upto) {
            return Vec::new();
        }
        let mut in_force = self.in_force.write();
        let untold = in_force.rules.iter_mut().filter(|rule| rule.number <= upto && !rule.count_reported);
        let finished = untold.map(|rule| {
            rule.count_reported = true;
            rule.finished()
        });
        finished.collect()
    }
}

/// Verdicts of the active purges on pages: unaffected, stale or removed.
impl<M: Metadata> LivePurges<M> {
    /// Returns true if an active purge has a number above `number`.
    #[inline]
    pub fn any_since(&self, number: u64) -> bool {
        self.newest.load(SeqCst) > number
    }

    /// Applies the active purges that a stored object has not been checked against yet. A soft purge makes the object
    /// stale; on `Removed`, the caller must remove the object. Each purge that covers the object counts it, up to the
    /// first hard purge.
    #[cold]
    pub fn judge(&self, object: &impl Purgeable<M>) -> PurgeVerdict {
        self.judge_object(object, true)
    }

    /// Like [`Self::judge`], for an object that is about to be stored. Purges do not count it, because it was not
    /// stored when they were requested.
    #[cold]
    pub fn judge_arriving(&self, object: &impl Purgeable<M>) -> PurgeVerdict {
        self.judge_object(object, false)
    }

    fn judge_object(&self, object: &impl Purgeable<M>, count: bool) -> PurgeVerdict {
        let in_force = self.in_force.read();
        let verdict = in_force.judge(object.last_purge_applied(), object.key(), object.meta(), count);
        let newest = self.newest.load(SeqCst);
        if verdict == PurgeVerdict::Stale {
            object.expire(in_force.stale_from(object.last_purge_applied(), object));
            if self.has_disk.load(SeqCst) {
                let (key, generation) = (in_force.seed.hash(object.key()), object.generation());
                self.softened.lock().push(SoftPurgedPage { key, generation, number: newest });
            }
        }
        if verdict != PurgeVerdict::Removed {
            object.note_purges_applied(newest);
        }
        verdict
    }

    /// Returns the verdict of the purges since its fetch on a page that was read from or written to a file, and the
    /// number of the newest purge. Makes the page stale if necessary. Purges with numbers above `count` count it; none
    /// if `count` is `None`.
    pub fn judge_filed(&self, object: &impl Purgeable<M>, count: Option<u64>) -> (PurgeVerdict, u64) {
        let began = object.generation();
        let count = count.map(|count| began.max(count));
        let (verdict, newest) = self.judge_stored(began, object.key(), object.meta(), count);
        if verdict == PurgeVerdict::Stale {
            object.expire(self.in_force.read().stale_from(began, object));
        }
        (verdict, newest)
    }

    /// Returns the verdict of the purges with numbers above `since` on a page on disk, and the number of the newest
    /// purge. Purges with numbers above `count`, which must not be below `since`, count the page; none if `count` is
    /// `None`.
    pub fn judge_stored(
        &self,
        since: u64,
        key: &[u8],
        meta: M::MetaView<'_>,
        count: Option<u64>,
    ) -> (PurgeVerdict, u64) {
        let in_force = self.in_force.read();
        if let Some(count) = count.filter(|count| *count > since) {
            in_force.judge(count, key, meta, true);
        }
        (in_force.judge(since, key, meta, count == Some(since)), self.newest.load(SeqCst))
    }

    /// Returns the verdict of the purges of keys and labels with numbers above `since` on a page of which only key hash
    /// and labels are known. The purges count the page.
    pub fn judge_exact(&self, since: u64, key: u128, labels: &[u64]) -> PurgeVerdict {
        self.in_force
            .read()
            .judge_exact(since, Some(key), |each| labels.iter().for_each(|label| each(*label)), true)
            .0
    }

    /// Returns the verdict of the purges with numbers above `since` on any page, and the number of the newest, if there
    /// are such purges and all of them are purges of everything; otherwise `None`. Of these purges, those with
    /// numbers above `count` count the page; none if `count` is `None`. Purges after the first hard purge do not count
    /// the page, because the hard purge removes it.
    pub fn judge_any(&self, since: u64, count: Option<u64>) -> Option<(PurgeVerdict, u64)> {
        let in_force = self.in_force.read();
        in_force.judge_any(since, count).map(|verdict| (verdict, self.newest.load(SeqCst)))
    }

    /// Returns the verdict of the purges with numbers above `since` on a page, without counting it.
    pub fn peek_verdict(&self, since: u64, key: &[u8], meta: M::MetaView<'_>) -> PurgeVerdict {
        if !self.any_since(since) {
            return PurgeVerdict::Unaffected;
        }
        self.in_force.read().judge(since, key, meta, false)
    }

    /// Returns true if a fetch that began at `generation` may not be joined by further requests: a purge since then
    /// covers its page or, while the response head (`head`) is unknown, may cover it.
    #[cold]
    pub fn may_cover(
        &self,
        generation: u64,
        key: HashedKeyRef<'_>,
        address: Option<[u64; 2]>,
        head: Option<M::MetaView<'_>>,
    ) -> bool {
        let in_force = self.in_force.read();
        let Some(head) = head else {
            let since = |numbers: Option<&PurgeNumbers>| numbers.is_some_and(|n| n.newest() > generation);
            return in_force.newest_label > generation
                || in_force.newest_rule() > generation
                || since(in_force.keys.get(&key.hash()))
                // A fetch without an address may be for any URL.
                || address.map_or(in_force.newest_address > generation, |address| {
                    address.iter().any(|label| since(in_force.labels.get(label)))
                });
        };
        in_force.judge(generation, key.bytes(), head, false) != PurgeVerdict::Unaffected
    }

    /// Returns the number of the newest active purge by rule or of everything, or 0. Every object must be checked
    /// against rules, because no index finds the objects that they cover.
    pub fn newest_rule(&self) -> u64 {
        self.in_force.read().newest_rule()
    }

    /// Returns the number of the newest rule with a number below `number`, or 0.
    pub fn newest_rule_before(&self, number: u64) -> u64 {
        let in_force = self.in_force.read();
        in_force.rules.iter().rfind(|rule| rule.number < number).map_or(0, |rule| rule.number)
    }

    /// Returns true if no purge of the zone is active.
    pub fn is_empty(&self) -> bool {
        self.newest.load(SeqCst) == 0
    }

    /// Returns the number of keys, labels and rules with active purges.
    pub fn len(&self) -> usize {
        let in_force = self.in_force.read();
        in_force.rules.len() + in_force.keys.len() + in_force.labels.len()
    }

    /// Returns true if at least half of the maximum number of purges is active. Slow fetches are then prevented from
    /// storing their pages, so that purges which are active only for these fetches can be removed.
    pub fn is_crowded(&self) -> bool {
        let in_force = self.in_force.read();
        in_force.keys.len() + in_force.labels.len() >= MAX_EXACT / CROWDED_DIVISOR
            || in_force.rules.len() >= MAX_RULES / CROWDED_DIVISOR
    }
}

impl<M: Metadata> fmt::Debug for LivePurges<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LivePurges").field("newest", &self.newest).finish_non_exhaustive()
    }
}
