//! The purges of a zone that hold: asked by look-ups, by fetches that end, and by sweeps.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed, Ordering::SeqCst};

use parking_lot::{Mutex, RwLock};
use smallvec::SmallVec;

use super::book::{Book, Entry, Ruled};
use super::exact::{Exact, Numbers};
use super::request::{Purge, PurgeError, Retired};
use super::verdict::{Softened, Verdict};
use crate::disk::Name;
use crate::key::{Hashed, Seed};
use crate::{Covers, KeyRef, Metadata, Object};

/// Most rules that wait for all pages to be asked: each look-up of an object asks all that are new to it.
const MOST_TESTS: usize = 1024;
/// Rules from which on one that is asked for again takes the place of its former self, counts and all.
const MANY_TESTS: usize = 64;
/// Most keys and labels that are kept at once, some 50 bytes each.
const MOST_MARKS: usize = 1 << 18;
/// The part of both from which on no fetch may keep purges from being forgotten.
const CROWD: usize = 2;

/// A purge of what a rule covers, or of everything.
struct Test<M: Metadata> {
    name: Arc<str>,
    number: u64,
    purge: Purge,
    /// `None` is everything.
    rule: Option<Box<[u8]>>,
    /// `None` covers everything.
    covers: Option<Covers<M>>,
    count: AtomicUsize,
    /// Whether its count is told.
    told: bool,
}

impl<M: Metadata> Test<M> {
    fn of(ruled: &Ruled, covers: Option<Covers<M>>) -> Self {
        Self {
            name: (*ruled.name).into(),
            number: ruled.number,
            purge: ruled.purge,
            rule: ruled.rule.clone(),
            covers,
            count: AtomicUsize::new(0),
            told: false,
        }
    }

    fn retired(&self) -> Retired {
        Retired { name: Arc::clone(&self.name), number: self.number, count: self.count.load(Relaxed) }
    }

    fn written(&self) -> Entry {
        let (number, purge) = (self.number, self.purge);
        Entry::Ruled(Ruled { number, purge, name: (*self.name).into(), rule: self.rule.clone() })
    }

    fn covers(&self, key: &[u8], meta: M::View<'_>) -> bool {
        self.covers.as_ref().is_none_or(|covers| covers(key, meta))
    }
}

struct Live<M: Metadata> {
    /// That of the zone.
    seed: Seed,
    keys: HashMap<u128, Numbers>,
    labels: HashMap<u64, Numbers>,
    /// The newest purges of labels that only a response tells, and of those that claims tell.
    newest_told: u64,
    newest_address: u64,
    /// The newest of keys and labels, zero where there is none; and a number that none is below, the highest where there is none.
    newest_mark: u64,
    oldest_mark: u64,
    /// In the order of their numbers.
    tests: Vec<Test<M>>,
    counting: Vec<Arc<Exact>>,
    /// From when on the pages of soft purges are stale, in ms since the epoch, by their numbers. Not written down: what is
    /// missing counts as 0.
    stale_from: BTreeMap<u64, u64>,
}

/// The purges of a zone that are not retired.
pub(crate) struct LivePurges<M: Metadata> {
    /// The number of the newest, zero where there is none: most look-ups read nothing else.
    newest: AtomicU64,
    live: RwLock<Live<M>>,
    /// Pages that soft purges have covered, for the disk tier to know of, where there is one. No lock is taken under this one.
    softened: Mutex<Vec<Softened>>,
    has_disk: AtomicBool,
}

impl<M: Metadata> LivePurges<M> {
    pub(crate) fn new(seed: Seed) -> Self {
        let live = Live {
            seed,
            keys: HashMap::new(),
            labels: HashMap::new(),
            newest_told: 0,
            newest_address: 0,
            newest_mark: 0,
            oldest_mark: u64::MAX,
            tests: Vec::new(),
            counting: Vec::new(),
            stale_from: BTreeMap::new(),
        };
        Self {
            newest: AtomicU64::new(0),
            live: RwLock::new(live),
            softened: Mutex::default(),
            has_disk: AtomicBool::new(false),
        }
    }

    pub(crate) fn take_seed(&self, seed: Seed) {
        self.live.write().seed = seed;
    }

    /// From here on, what soft purges cover is noted for the disk tier.
    pub(crate) fn serve_disk(&self) {
        self.has_disk.store(true, SeqCst);
    }

    pub(crate) fn take_softened(&self) -> Vec<Softened> {
        std::mem::take(&mut self.softened.lock())
    }

    /// Adds a purge under the number that `sequence` gives: numbers and lists go up together.
    pub(crate) fn add_test(
        &self,
        sequence: &AtomicU64,
        name: &str,
        purge: Purge,
        rule: Option<(&[u8], Covers<M>)>,
    ) -> Result<Entry, PurgeError> {
        let mut live = self.live.write();
        let (rule, covers) =
            rule.map_or((None, None), |(rule, covers)| (Some(Box::from(rule)), Some(covers)));
        let former = live.repeated(purge, rule.as_deref());
        if live.tests.len() >= MOST_TESTS {
            return Err(PurgeError::TooMany);
        }
        let number = sequence.fetch_add(1, SeqCst);
        let ruled = Ruled { number, purge, name: name.into(), rule };
        let test = Test::of(&ruled, covers);
        test.count.store(former, Relaxed);
        live.tests.push(test);
        self.newest.store(number, SeqCst);
        Ok(Entry::Ruled(ruled))
    }

    /// Adds a purge of keys and labels; it counts what it covers until [`Self::end_count`].
    pub(crate) fn add_exact(
        &self,
        sequence: &AtomicU64,
        purge: Purge,
        keys: &[KeyRef<'_>],
        addresses: &[u64],
        told: &[u64],
    ) -> Result<Arc<Exact>, PurgeError> {
        let mut live = self.live.write();
        if live.keys.len() + live.labels.len() + keys.len() + addresses.len() + told.len() > MOST_MARKS {
            return Err(PurgeError::TooMany);
        }
        let number = sequence.fetch_add(1, SeqCst);
        let hashes: Box<[u128]> = keys.iter().map(|key| live.seed.hash(key.bytes())).collect();
        for key in &hashes {
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
        live.note_mark(number);
        let labels = addresses.iter().chain(told).copied().collect();
        let named = keys.iter().filter(|_| self.has_disk.load(SeqCst));
        let names = named.map(|key| Name::of_key(key.bytes())).collect();
        let exact =
            Arc::new(Exact { number, purge, keys: hashes, names, labels, count: AtomicUsize::new(0) });
        live.counting.push(Arc::clone(&exact));
        self.newest.store(number, SeqCst);
        Ok(exact)
    }

    /// The purges of the runs before hold from now on. Those of this run that are there already get numbers beyond all that is
    /// in the folder, since they cover it too; they are returned, to be written down.
    pub(crate) fn begin(&self, sequence: &AtomicU64, book: &Book, is_lost: bool) -> Vec<Entry> {
        let mut live = self.live.write();
        let number = sequence.fetch_add(1, SeqCst);
        let mut early = live.renumber(number);
        for test in &mut live.tests {
            test.number = sequence.fetch_add(1, SeqCst);
            early.push(test.written());
        }
        if is_lost {
            let number = sequence.fetch_add(1, SeqCst);
            let name = "all, since purges were lost".into();
            let ruled = Ruled { number, purge: Purge::Hard, name, rule: None };
            live.tests.push(Test::of(&ruled, None));
            early.push(Entry::Ruled(ruled));
        }
        for (key, numbers) in &book.keys {
            live.keys.entry(*key).or_default().add(*numbers);
        }
        for (label, numbers) in &book.labels {
            live.labels.entry(*label).or_default().add(*numbers);
        }
        // A rule that this build cannot read may have covered anything.
        let former =
            book.rules.iter().map(|ruled| Test::of(ruled, ruled.rule.as_deref().and_then(M::covers)));
        live.tests.splice(0..0, former);
        live.measure();
        self.newest.store(live.newest(), SeqCst);
        early
    }

    /// Purges of another process hold from now on, over all that was fetched before, under numbers of this one. They count
    /// nothing.
    pub(crate) fn adopt(&self, sequence: &AtomicU64, news: &Book) -> Book {
        let mut live = self.live.write();
        let number = sequence.fetch_add(1, SeqCst);
        let renumber = |numbers: &Numbers| {
            let new = |former: u64| if former > 0 { number } else { 0 };
            Numbers { hard: new(numbers.hard), soft: new(numbers.soft) }
        };
        let mut book = Book::default();
        for (key, numbers) in &news.keys {
            book.keys.insert(*key, renumber(numbers));
            live.keys.entry(*key).or_default().add(renumber(numbers));
        }
        for (label, numbers) in &news.labels {
            book.labels.insert(*label, renumber(numbers));
            live.labels.entry(*label).or_default().add(renumber(numbers));
        }
        if !news.labels.is_empty() {
            (live.newest_told, live.newest_address) = (number, number);
        }
        live.note_mark(number);
        let mut newest = number;
        for ruled in &news.rules {
            newest = sequence.fetch_add(1, SeqCst);
            let ruled = Ruled { number: newest, ..ruled.clone() };
            // A rule that this build cannot read may have covered anything.
            let mut test = Test::of(&ruled, ruled.rule.as_deref().and_then(M::covers));
            test.told = true;
            live.tests.push(test);
            book.rules.push(ruled);
        }
        self.newest.store(newest, SeqCst);
        book
    }

    /// The count is told: what is found from now on is not part of it.
    pub(crate) fn end_count(&self, exact: &Exact) -> usize {
        self.live.write().counting.retain(|other| other.number != exact.number);
        exact.count.load(Relaxed)
    }

    /// Pages of a key or a label were found: the oldest purge that is counting such took them.
    pub(crate) fn note_found(&self, key: Option<u128>, labels: &[u64], purge: Purge, count: usize) {
        let live = self.live.read();
        let mut counting = live.counting.iter().filter(|exact| exact.purge == purge);
        if let Some(exact) = counting.find(|exact| exact.covers(key, labels)) {
            exact.count.fetch_add(count, Relaxed);
        }
    }

    /// Whether a purge is newer than `number`.
    #[inline]
    pub(crate) fn any_since(&self, number: u64) -> bool {
        self.newest.load(SeqCst) > number
    }

    /// The pages of a soft purge are stale from that time on, in ms since the epoch. At most as many are kept as labels; the
    /// oldest counts as not known first.
    pub(crate) fn note_stale_from(&self, number: u64, from: u64) {
        let mut live = self.live.write();
        live.stale_from.insert(number, from);
        if live.stale_from.len() > MOST_MARKS {
            live.stale_from.pop_first();
        }
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
        let newest = self.newest.load(SeqCst);
        if verdict == Verdict::Stale {
            object.expire(live.stale_from(object.asked_by(), object));
            if self.has_disk.load(SeqCst) {
                let (key, generation) = (live.seed.hash(object.key()), object.generation());
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
    pub(crate) fn judge_filed(&self, object: &Object<M>, count: Option<u64>) -> (Verdict, u64) {
        let began = object.generation();
        let count = count.map(|count| began.max(count));
        let (verdict, newest) = self.judge_stored(began, object.key(), object.meta(), count);
        if verdict == Verdict::Stale {
            object.expire(self.live.read().stale_from(began, object));
        }
        (verdict, newest)
    }

    /// What the purges after `since` say of a page on disk, and the newest of them. Those after `count` count it.
    pub(crate) fn judge_stored(
        &self,
        since: u64,
        key: &[u8],
        meta: M::View<'_>,
        count: Option<u64>,
    ) -> (Verdict, u64) {
        let live = self.live.read();
        if let Some(count) = count.filter(|count| *count > since) {
            live.judge(count, key, meta, true);
        }
        (live.judge(since, key, meta, count == Some(since)), self.newest.load(SeqCst))
    }

    pub(crate) fn is_counting(&self) -> bool {
        !self.live.read().counting.is_empty()
    }

    /// What the purges after `since` say of a page of which only key and labels are known, rules apart. It is counted.
    pub(crate) fn judge_marks(&self, since: u64, key: u128, labels: &[u64]) -> Verdict {
        self.live
            .read()
            .judge_marks(since, Some(key), |each| labels.iter().for_each(|label| each(*label)), true)
            .0
    }

    /// What the purges after `since` say of any page, where all of them are of everything.
    pub(crate) fn judge_any(&self, since: u64, count: Option<u64>) -> Option<(Verdict, u64)> {
        let live = self.live.read();
        let first = live.tests.partition_point(|test| test.number <= since);
        let newer = &live.tests[first..];
        if live.newest_mark > since || newer.is_empty() || newer.iter().any(|test| test.covers.is_some()) {
            return None;
        }
        let takes = newer.iter().position(|test| test.purge == Purge::Hard);
        let covering = &newer[..takes.map_or(newer.len(), |takes| takes + 1)];
        for test in covering.iter().filter(|test| count.is_some_and(|count| test.number > count)) {
            test.count.fetch_add(1, Relaxed);
        }
        let verdict = if takes.is_some() { Verdict::Goes } else { Verdict::Stale };
        Some((verdict, self.newest.load(SeqCst)))
    }

    /// What the purges after `since` say of a page, without being counted.
    pub(crate) fn look_at(&self, since: u64, key: &[u8], meta: M::View<'_>) -> Verdict {
        if !self.any_since(since) {
            return Verdict::Stays;
        }
        self.live.read().judge(since, key, meta, false)
    }

    /// The rules whose pages are being counted, in the order of their numbers, with the counts so far.
    pub(crate) fn untold(&self) -> Vec<Retired> {
        let live = self.live.read();
        live.tests.iter().filter(|test| !test.told).map(Test::retired).collect()
    }

    /// Whether a flight that began at `generation` takes no newcomers: a purge covers it, or may, once there is a head.
    #[cold]
    pub(crate) fn may_cover(
        &self,
        generation: u64,
        key: Hashed<'_>,
        address: Option<[u64; 2]>,
        head: Option<M::View<'_>>,
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

    pub(crate) fn newest_test_before(&self, number: u64) -> u64 {
        let live = self.live.read();
        live.tests.iter().rfind(|test| test.number < number).map_or(0, |test| test.number)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.newest.load(SeqCst) == 0
    }

    pub(crate) fn len(&self) -> usize {
        let live = self.live.read();
        live.tests.len() + live.keys.len() + live.labels.len()
    }

    /// The purges by rule up to a number that were not told yet: all there was before them has been asked.
    pub(crate) fn tell(&self, upto: u64) -> Vec<Retired> {
        if self.live.read().tests.iter().all(|test| test.told || test.number > upto) {
            return Vec::new();
        }
        let mut live = self.live.write();
        let untold = live.tests.iter_mut().filter(|test| test.number <= upto && !test.told);
        let told = untold.map(|test| {
            test.told = true;
            test.retired()
        });
        told.collect()
    }

    /// Whether so many purges are kept that no fetch may keep them from being forgotten.
    pub(crate) fn is_crowded(&self) -> bool {
        let live = self.live.read();
        live.keys.len() + live.labels.len() >= MOST_MARKS / CROWD || live.tests.len() >= MOST_TESTS / CROWD
    }

    /// Drops the purges with numbers below `below`, once they are told: nothing from before them can come any more.
    pub(crate) fn retire(&self, below: u64) {
        if self.live.read().oldest_is_at_least(below) {
            return;
        }
        let mut live = self.live.write();
        live.tests.retain(|test| test.number >= below || !test.told);
        live.keys.retain(|_, numbers| numbers.newest() >= below);
        live.labels.retain(|_, numbers| numbers.newest() >= below);
        live.stale_from = live.stale_from.split_off(&below);
        live.measure();
        self.newest.store(live.newest(), SeqCst);
    }
}

impl<M: Metadata> Live<M> {
    /// A key or label was purged, later than all others.
    fn note_mark(&mut self, number: u64) {
        self.newest_mark = number;
        self.oldest_mark = self.oldest_mark.min(number);
    }

    /// Finds the newest and the oldest of keys and labels.
    fn measure(&mut self) {
        let marks = || self.keys.values().chain(self.labels.values()).map(|numbers| numbers.newest());
        (self.newest_mark, self.oldest_mark) =
            (marks().max().unwrap_or(0), marks().min().unwrap_or(u64::MAX));
    }

    fn oldest_is_at_least(&self, number: u64) -> bool {
        self.tests.first().is_none_or(|test| test.number >= number) && self.oldest_mark >= number
    }

    fn newest(&self) -> u64 {
        self.newest_mark.max(self.tests.last().map_or(0, |test| test.number))
    }

    /// Takes out the purge by a rule that the same rule makes moot, where it would only be asked twice; what it has counted
    /// and not told.
    fn repeated(&mut self, purge: Purge, rule: Option<&[u8]>) -> usize {
        let many = self.tests.len() >= MANY_TESTS;
        let mut counted = 0;
        self.tests.retain(|test| {
            let is_moot = test.purge == purge && test.rule.as_deref() == rule && (many || test.told);
            if is_moot && !test.told {
                counted += test.count.load(Relaxed);
            }
            !is_moot
        });
        counted
    }

    /// Gives all purges of keys and labels one number; what they are, to be written down.
    fn renumber(&mut self, number: u64) -> Vec<Entry> {
        let mut entries = Vec::new();
        for purge in [Purge::Hard, Purge::Soft] {
            let is_such = |numbers: &Numbers| match purge {
                Purge::Hard => numbers.hard > 0,
                Purge::Soft => numbers.soft > 0,
            };
            let keys = self.keys.iter().filter(|(_, n)| is_such(n)).map(|(key, _)| *key).collect();
            let labels = self.labels.iter().filter(|(_, n)| is_such(n)).map(|(label, _)| *label).collect();
            entries.push(Entry::Exact { number, purge, keys, labels });
        }
        for numbers in self.keys.values_mut().chain(self.labels.values_mut()) {
            for each in [&mut numbers.hard, &mut numbers.soft] {
                *each = if *each > 0 { number } else { 0 };
            }
        }
        entries.retain(|entry| !matches!(entry, Entry::Exact { keys, labels, .. } if keys.is_empty() && labels.is_empty()));
        entries
    }

    /// What purges of keys and labels after `since` say of a page: the verdict, and those among them that count.
    fn judge_marks(
        &self,
        since: u64,
        key: Option<u128>,
        tell: impl FnOnce(&mut dyn FnMut(u64)),
        count: bool,
    ) -> (Verdict, SmallVec<[Covering<'_>; 4]>) {
        let mut found = key.and_then(|key| self.keys.get(&key)).copied().unwrap_or_default();
        let mut labels = SmallVec::<[u64; 8]>::new();
        if !self.labels.is_empty() {
            tell(&mut |label| {
                if let Some(numbers) = self.labels.get(&label) {
                    found.add(*numbers);
                    labels.push(label);
                }
            });
        }
        let mut covering = SmallVec::new();
        if found.newest() > since {
            let exact = self.counting.iter().filter(|exact| exact.number > since);
            let exact = exact.filter(|exact| exact.covers(key, &labels));
            covering.extend(exact.map(|exact| (exact.number, exact.purge, &exact.count)));
        }
        if count {
            note(&mut covering);
        }
        let verdict = match found {
            found if found.hard > since => Verdict::Goes,
            found if found.soft > since => Verdict::Stale,
            _ => Verdict::Stays,
        };
        (verdict, covering)
    }

    /// From when on the soft purges after `since` make an object stale: the earliest time that one of them says.
    fn stale_from(&self, since: u64, object: &Object<M>) -> u64 {
        let (key, meta) = (object.key(), object.meta());
        let mut soft = self.keys.get(&self.seed.hash(key)).map_or(0, |numbers| numbers.soft);
        M::labels(meta, &mut |label| soft = soft.max(self.labels.get(&label).map_or(0, |found| found.soft)));
        let by_mark = Some(soft).filter(|number| *number > since);
        let first_test = self.tests.partition_point(|test| test.number <= since);
        let by_rule = self.tests[first_test..].iter();
        let by_rule = by_rule.filter(|test| test.purge == Purge::Soft && test.covers(key, meta));
        let numbers = by_mark.into_iter().chain(by_rule.map(|test| test.number));
        numbers.map(|number| self.stale_from.get(&number).copied().unwrap_or(0)).min().unwrap_or(0)
    }

    /// What the purges after `since` say of a page.
    fn judge(&self, since: u64, key: &[u8], meta: M::View<'_>, count: bool) -> Verdict {
        let key_hash = (!self.keys.is_empty()).then(|| self.seed.hash(key));
        let (by_mark, mut covering) = self.judge_marks(since, key_hash, |each| M::labels(meta, each), false);
        let first_test = self.tests.partition_point(|test| test.number <= since);
        for test in self.tests[first_test..].iter().filter(|test| test.covers(key, meta)) {
            covering.push((test.number, test.purge, &test.count));
            if test.purge == Purge::Hard {
                break;
            }
        }
        let by_rule = covering.iter().map(|(_, purge, _)| *purge).min();
        if count {
            note(&mut covering);
        }
        match by_rule {
            Some(Purge::Hard) => Verdict::Goes,
            Some(Purge::Soft) => by_mark.max(Verdict::Stale),
            None => by_mark,
        }
    }
}

/// A purge that covers a page: its number, what it does, where it counts.
type Covering<'a> = (u64, Purge, &'a AtomicUsize);

/// Counts a page for those that cover it. What one has taken out is not there any more for those after it.
fn note(covering: &mut [Covering<'_>]) {
    covering.sort_unstable_by_key(|(number, ..)| *number);
    let takes = covering.iter().position(|(_, purge, _)| *purge == Purge::Hard);
    for (_, _, count) in &covering[..takes.map_or(covering.len(), |takes| takes + 1)] {
        count.fetch_add(1, Relaxed);
    }
}

impl<M: Metadata> fmt::Debug for LivePurges<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LivePurges").field("newest", &self.newest).finish_non_exhaustive()
    }
}
