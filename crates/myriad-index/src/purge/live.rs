//! The purges of a zone that are in force: asked by look-ups, by fetches that end, and by sweeps.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed, Ordering::SeqCst};

use parking_lot::{Mutex, RwLock};

use super::book::Book;
use super::exact::{ExactPurge, Numbers};
use super::in_force::{InForce, LiveRule};
use super::record::{PurgeRecord, RulePurge};
use super::request::{Purge, PurgeError, Retired};
use super::verdict::{Judged, Softened, Verdict};
use crate::{Covers, Hashed, KeyRef, Metadata, Name, Seed};

/// Most rules that wait for all pages to be asked: each look-up of an object asks all that are new to it.
const MOST_RULES: usize = 1024;
/// Most keys and labels that are kept at once, some 50 bytes each.
const MOST_EXACT: usize = 1 << 18;
/// The part of both bounds from which on no fetch may keep purges from being forgotten: one in so many.
const CROWD: usize = 2;

/// The purges of a zone that are in force, until [`Self::retire`] forgets them.
pub struct LivePurges<M: Metadata> {
    /// The number of the newest, zero where there is none: most look-ups read nothing else.
    newest: AtomicU64,
    in_force: RwLock<InForce<M>>,
    /// Pages that soft purges have covered, where the disk tier is to hear of them. No lock is taken under this one.
    softened: Mutex<Vec<Softened>>,
    has_disk: AtomicBool,
}

/// Adding and forgetting purges.
impl<M: Metadata> LivePurges<M> {
    /// None yet, of a zone whose keys are hashed with `seed`.
    pub fn new(seed: Seed) -> Self {
        Self {
            newest: AtomicU64::new(0),
            in_force: RwLock::new(InForce::new(seed)),
            softened: Mutex::default(),
            has_disk: AtomicBool::new(false),
        }
    }

    /// Keys are hashed with this seed from now on. To be called before the first purge of a key.
    pub fn take_seed(&self, seed: Seed) {
        self.in_force.write().seed = seed;
    }

    /// From now on, pages that soft purges cover are noted for the disk tier ([`Self::take_softened`]).
    pub fn serve_disk(&self) {
        self.has_disk.store(true, SeqCst);
    }

    /// The pages that soft purges have covered in memory since the last call.
    pub fn take_softened(&self) -> Vec<Softened> {
        std::mem::take(&mut self.softened.lock())
    }

    /// Adds a purge by rule, or of everything, under the number that `sequence` gives: numbers and lists go up together.
    pub fn add_rule(
        &self,
        sequence: &AtomicU64,
        name: &str,
        purge: Purge,
        rule: Option<(&[u8], Covers<M>)>,
    ) -> Result<PurgeRecord, PurgeError> {
        let mut in_force = self.in_force.write();
        let (rule, covers) =
            rule.map_or((None, None), |(rule, covers)| (Some(Box::from(rule)), Some(covers)));
        let former = in_force.take_repeated(purge, rule.as_deref());
        if in_force.rules.len() >= MOST_RULES {
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

    /// Adds a purge of keys, of labels that claims tell (`addresses`), and of `labels` that only a response tells. It counts
    /// what it covers until [`Self::end_count`].
    pub fn add_exact(
        &self,
        sequence: &AtomicU64,
        purge: Purge,
        keys: &[KeyRef<'_>],
        addresses: &[u64],
        labels: &[u64],
    ) -> Result<Arc<ExactPurge>, PurgeError> {
        let mut in_force = self.in_force.write();
        let kept = in_force.keys.len() + in_force.labels.len();
        if kept + keys.len() + addresses.len() + labels.len() > MOST_EXACT {
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
        let names = named.map(|key| Name::of_key(key.bytes())).collect();
        let exact =
            Arc::new(ExactPurge { number, purge, keys: hashes, names, labels, count: AtomicUsize::new(0) });
        in_force.counting.push(Arc::clone(&exact));
        self.newest.store(number, SeqCst);
        Ok(exact)
    }

    /// The purges of the runs before are in force from now on. Those of this run get numbers beyond all that is in the folder,
    /// since they cover it too; they are returned, to be written down. Where `is_lost`, everything is purged.
    pub fn begin(&self, sequence: &AtomicU64, book: &Book, is_lost: bool) -> Vec<PurgeRecord> {
        let mut in_force = self.in_force.write();
        let number = sequence.fetch_add(1, SeqCst);
        let mut early = in_force.renumber(number);
        for rule in &mut in_force.rules {
            rule.number = sequence.fetch_add(1, SeqCst);
            early.push(rule.record());
        }
        if is_lost {
            let number = sequence.fetch_add(1, SeqCst);
            let name = "all, since purges were lost".into();
            let all = RulePurge { number, purge: Purge::Hard, name, rule: None };
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

    /// Purges of another process are in force from now on, over all that was fetched before, under numbers of this process:
    /// those are returned. Nothing is counted for them.
    pub fn adopt(&self, sequence: &AtomicU64, news: &Book) -> Book {
        let mut in_force = self.in_force.write();
        let number = sequence.fetch_add(1, SeqCst);
        let renumber = |numbers: &Numbers| {
            let new = |former: u64| if former > 0 { number } else { 0 };
            Numbers { hard: new(numbers.hard), soft: new(numbers.soft) }
        };
        let mut book = Book::default();
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
            live.told = true;
            in_force.rules.push(live);
            book.rules.push(rule);
        }
        self.newest.store(newest, SeqCst);
        book
    }

    /// Notes from when on the pages of a soft purge are stale, in ms since the epoch. At most [`MOST_EXACT`] such times are
    /// kept; beyond that the oldest counts as not known.
    pub fn note_stale_from(&self, number: u64, from: u64) {
        let mut in_force = self.in_force.write();
        in_force.stale_from.insert(number, from);
        if in_force.stale_from.len() > MOST_EXACT {
            in_force.stale_from.pop_first();
        }
    }

    /// Forgets the purges with numbers below `below`, rules once they are told: nothing from before them can come any more.
    pub fn retire(&self, below: u64) {
        if self.in_force.read().oldest_is_at_least(below) {
            return;
        }
        let mut in_force = self.in_force.write();
        in_force.rules.retain(|rule| rule.number >= below || !rule.told);
        in_force.keys.retain(|_, numbers| numbers.newest() >= below);
        in_force.labels.retain(|_, numbers| numbers.newest() >= below);
        in_force.stale_from = in_force.stale_from.split_off(&below);
        in_force.measure();
        self.newest.store(in_force.newest(), SeqCst);
    }
}

/// Counting what purges cover.
impl<M: Metadata> LivePurges<M> {
    /// Ends the count of a purge; how many pages it covered.
    pub fn end_count(&self, exact: &ExactPurge) -> usize {
        self.in_force.write().counting.retain(|other| other.number != exact.number);
        exact.count.load(Relaxed)
    }

    /// Counts pages of a key or a label for the oldest purge that is counting such: it took them.
    pub fn note_found(&self, key: Option<u128>, labels: &[u64], purge: Purge, count: usize) {
        let in_force = self.in_force.read();
        let mut counting = in_force.counting.iter().filter(|exact| exact.purge == purge);
        if let Some(exact) = counting.find(|exact| exact.covers(key, labels)) {
            exact.count.fetch_add(count, Relaxed);
        }
    }

    /// Whether pages are being counted for a purge of keys or labels.
    pub fn is_counting(&self) -> bool {
        !self.in_force.read().counting.is_empty()
    }

    /// The rules whose pages are being counted, in the order of their numbers, with the counts so far.
    pub fn untold(&self) -> Vec<Retired> {
        let in_force = self.in_force.read();
        in_force.rules.iter().filter(|rule| !rule.told).map(LiveRule::retired).collect()
    }

    /// The rules up to a number with their counts, each once. To be called when all pages from before them were asked.
    pub fn tell(&self, upto: u64) -> Vec<Retired> {
        if self.in_force.read().rules.iter().all(|rule| rule.told || rule.number > upto) {
            return Vec::new();
        }
        let mut in_force = self.in_force.write();
        let untold = in_force.rules.iter_mut().filter(|rule| rule.number <= upto && !rule.told);
        let told = untold.map(|rule| {
            rule.told = true;
            rule.retired()
        });
        told.collect()
    }
}

/// Asking the purges about a page.
impl<M: Metadata> LivePurges<M> {
    /// Whether a purge is newer than `number`.
    #[inline]
    pub fn any_since(&self, number: u64) -> bool {
        self.newest.load(SeqCst) > number
    }

    /// Judges a stored object: makes it stale, or says that it must go, and counts it. Each purge asks it once.
    #[cold]
    pub fn judge(&self, object: &impl Judged<M>) -> Verdict {
        self.judge_object(object, true)
    }

    /// As [`Self::judge`], of an object that is about to be stored: it was not there to be purged, so it is not counted.
    #[cold]
    pub fn judge_arriving(&self, object: &impl Judged<M>) -> Verdict {
        self.judge_object(object, false)
    }

    fn judge_object(&self, object: &impl Judged<M>, count: bool) -> Verdict {
        let in_force = self.in_force.read();
        let verdict = in_force.judge(object.asked_by(), object.key(), object.meta(), count);
        let newest = self.newest.load(SeqCst);
        if verdict == Verdict::Stale {
            object.expire(in_force.stale_from(object.asked_by(), object));
            if self.has_disk.load(SeqCst) {
                let (key, generation) = (in_force.seed.hash(object.key()), object.generation());
                self.softened.lock().push(Softened { key, generation, number: newest });
            }
        }
        if verdict != Verdict::Goes {
            object.note_asked(newest);
        }
        verdict
    }

    /// What the purges since its fetch say of a page that was in a file, or has just come there; and the newest of them. Those
    /// after `count` count it.
    pub fn judge_filed(&self, object: &impl Judged<M>, count: Option<u64>) -> (Verdict, u64) {
        let began = object.generation();
        let count = count.map(|count| began.max(count));
        let (verdict, newest) = self.judge_stored(began, object.key(), object.meta(), count);
        if verdict == Verdict::Stale {
            object.expire(self.in_force.read().stale_from(began, object));
        }
        (verdict, newest)
    }

    /// What the purges after `since` say of a page on disk, and the newest of them. Those after `count` count it.
    pub fn judge_stored(
        &self,
        since: u64,
        key: &[u8],
        meta: M::View<'_>,
        count: Option<u64>,
    ) -> (Verdict, u64) {
        let in_force = self.in_force.read();
        if let Some(count) = count.filter(|count| *count > since) {
            in_force.judge(count, key, meta, true);
        }
        (in_force.judge(since, key, meta, count == Some(since)), self.newest.load(SeqCst))
    }

    /// What the purges of keys and labels after `since` say of a page of which only these are known. It is counted.
    pub fn judge_exact(&self, since: u64, key: u128, labels: &[u64]) -> Verdict {
        self.in_force
            .read()
            .judge_exact(since, Some(key), |each| labels.iter().for_each(|label| each(*label)), true)
            .0
    }

    /// What the purges after `since` say of any page, and the newest of them, where all of them are of everything; else
    /// `None`. Those after `count` count it.
    pub fn judge_any(&self, since: u64, count: Option<u64>) -> Option<(Verdict, u64)> {
        let in_force = self.in_force.read();
        in_force.judge_any(since, count).map(|verdict| (verdict, self.newest.load(SeqCst)))
    }

    /// What the purges after `since` say of a page; it is not counted.
    pub fn look_at(&self, since: u64, key: &[u8], meta: M::View<'_>) -> Verdict {
        if !self.any_since(since) {
            return Verdict::Stays;
        }
        self.in_force.read().judge(since, key, meta, false)
    }

    /// Whether a flight that began at `generation` takes no newcomers: a purge covers what it fetches, or may, as long as there
    /// is no head.
    #[cold]
    pub fn may_cover(
        &self,
        generation: u64,
        key: Hashed<'_>,
        address: Option<[u64; 2]>,
        head: Option<M::View<'_>>,
    ) -> bool {
        let in_force = self.in_force.read();
        let Some(head) = head else {
            let since = |numbers: Option<&Numbers>| numbers.is_some_and(|n| n.newest() > generation);
            return in_force.newest_label > generation
                || in_force.newest_rule() > generation
                || since(in_force.keys.get(&key.hash()))
                // A claim without an address may fetch anything.
                || address.map_or(in_force.newest_address > generation, |address| {
                    address.iter().any(|label| since(in_force.labels.get(label)))
                });
        };
        in_force.judge(generation, key.bytes(), head, false) != Verdict::Stays
    }

    /// The newest purge by rule, which every object must be asked by, since no index finds what it covers; zero where there is
    /// none.
    pub fn newest_rule(&self) -> u64 {
        self.in_force.read().newest_rule()
    }

    /// The newest purge by rule below a number; zero where there is none.
    pub fn newest_rule_before(&self, number: u64) -> u64 {
        let in_force = self.in_force.read();
        in_force.rules.iter().rfind(|rule| rule.number < number).map_or(0, |rule| rule.number)
    }

    /// Whether no purge is in force.
    pub fn is_empty(&self) -> bool {
        self.newest.load(SeqCst) == 0
    }

    /// Keys, labels and rules in force.
    pub fn len(&self) -> usize {
        let in_force = self.in_force.read();
        in_force.rules.len() + in_force.keys.len() + in_force.labels.len()
    }

    /// Whether so many purges are kept that no fetch may keep them from being forgotten.
    pub fn is_crowded(&self) -> bool {
        let in_force = self.in_force.read();
        in_force.keys.len() + in_force.labels.len() >= MOST_EXACT / CROWD
            || in_force.rules.len() >= MOST_RULES / CROWD
    }
}

impl<M: Metadata> fmt::Debug for LivePurges<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LivePurges").field("newest", &self.newest).finish_non_exhaustive()
    }
}
