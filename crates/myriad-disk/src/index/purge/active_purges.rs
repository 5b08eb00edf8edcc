//! Active purges as plain data, and their verdicts on pages.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use smallvec::SmallVec;

use super::exact::{ExactPurge, PurgeNumbers};
use super::record::{PurgeRecord, RulePurge};
use super::request::{FinishedPurge, NAME_OF_EXPIRY, PurgeKind};
use super::verdict::{PurgeVerdict, Purgeable};
use crate::index::{Metadata, PurgePredicate, Seed};

/// Number of active purges by rule from which a purge by the same rule always replaces the earlier one and takes over
/// its page count.
const MANY_RULES: usize = 64;

/// Active purge by rule (wildcard, regular expression…), or of everything.
pub(super) struct LiveRule<M: Metadata> {
    name: Arc<str>,
    pub(super) number: u64,
    pub(super) purge: PurgeKind,
    /// Rule as given by the caller; `None` for a purge of everything.
    rule: Option<Box<[u8]>>,
    /// Parsed rule; `None` for a purge of everything.
    pub(super) covers: Option<PurgePredicate<M>>,
    /// Number of pages that the purge has covered so far.
    pub(super) count: AtomicUsize,
    /// Set once the number of covered pages has been reported to the caller.
    pub(super) count_reported: bool,
}

impl<M: Metadata> LiveRule<M> {
    pub(super) fn new(rule: &RulePurge, covers: Option<PurgePredicate<M>>) -> Self {
        Self {
            name: (*rule.name).into(),
            number: rule.number,
            purge: rule.purge,
            rule: rule.rule.clone(),
            covers,
            count: AtomicUsize::new(0),
            count_reported: false,
        }
    }

    /// Creates an active purge by rule from the purge log. A rule that this version cannot parse covers everything,
    /// because it may have covered any page.
    pub(super) fn read(rule: &RulePurge) -> Self {
        Self::new(rule, rule.rule.as_deref().and_then(M::covers))
    }

    pub(super) fn finished(&self) -> FinishedPurge {
        FinishedPurge {
            name: Arc::clone(&self.name),
            number: self.number,
            count: self.count.load(Relaxed),
            is_expiry: self.rule.is_none() && *self.name == *NAME_OF_EXPIRY,
        }
    }

    pub(super) fn record(&self) -> PurgeRecord {
        let (number, purge) = (self.number, self.purge);
        PurgeRecord::Rule(RulePurge { number, purge, name: (*self.name).into(), rule: self.rule.clone() })
    }

    fn covers(&self, key: &[u8], meta: M::MetaView<'_>) -> bool {
        self.covers.as_ref().is_none_or(|covers| covers(key, meta))
    }
}

/// Active purges of a zone.
pub(super) struct ActivePurges<M: Metadata> {
    /// Seed with which the keys of the zone are hashed.
    pub(super) seed: Seed,
    /// Numbers of the newest purges of each key, by key hash.
    pub(super) keys: HashMap<u128, PurgeNumbers>,
    /// Numbers of the newest purges of each label.
    pub(super) labels: HashMap<u64, PurgeNumbers>,
    /// Number of the newest purge of labels that are known only from responses (hashes of tags).
    pub(super) newest_label: u64,
    /// Number of the newest purge of labels that are known before the response (hashes of URLs).
    pub(super) newest_address: u64,
    /// Number of the newest purge of a key or label, or 0.
    newest_exact: u64,
    /// Lower bound of the numbers of purges of keys and labels; `u64::MAX` if there are none.
    oldest_exact: u64,
    /// Active purges by rule and of everything, ordered by number.
    pub(super) rules: Vec<LiveRule<M>>,
    /// Purges of keys and labels that are still counting the pages that they cover.
    pub(super) counting: Vec<Arc<ExactPurge>>,
    /// Times from which the pages of soft purges are stale, in milliseconds since the epoch, by purge number. The times
    /// are not logged: a missing time counts as 0.
    pub(super) stale_from: BTreeMap<u64, u64>,
}

impl<M: Metadata> ActivePurges<M> {
    pub(super) fn new(seed: Seed) -> Self {
        Self {
            seed,
            keys: HashMap::new(),
            labels: HashMap::new(),
            newest_label: 0,
            newest_address: 0,
            newest_exact: 0,
            oldest_exact: u64::MAX,
            rules: Vec::new(),
            counting: Vec::new(),
            stale_from: BTreeMap::new(),
        }
    }

    /// Records `number`, which is above all others, as that of the newest purge of keys or labels.
    pub(super) fn note_exact(&mut self, number: u64) {
        self.newest_exact = number;
        self.oldest_exact = self.oldest_exact.min(number);
    }

    /// Computes the numbers of the newest and the oldest purge of keys and labels.
    pub(super) fn measure(&mut self) {
        let numbers = || self.keys.values().chain(self.labels.values()).map(|numbers| numbers.newest());
        (self.newest_exact, self.oldest_exact) =
            (numbers().max().unwrap_or(0), numbers().min().unwrap_or(u64::MAX));
    }

    pub(super) fn oldest_is_at_least(&self, number: u64) -> bool {
        self.rules.first().is_none_or(|rule| rule.number >= number) && self.oldest_exact >= number
    }

    /// Returns the number of the newest active purge by rule or of everything, or 0.
    pub(super) fn newest_rule(&self) -> u64 {
        self.rules.last().map_or(0, |rule| rule.number)
    }

    /// Returns the number of the newest active purge of any kind, or 0.
    pub(super) fn newest(&self) -> u64 {
        self.newest_exact.max(self.newest_rule())
    }

    /// Removes purges of this kind and name by this rule, because a purge that replaces them is about to be added. A purge
    /// whose count was not reported is removed only if there are at least [`MANY_RULES`] rules. Returns the number of pages
    /// that the removed purges have counted and not reported.
    pub(super) fn take_repeated(&mut self, purge: PurgeKind, name: &str, rule: Option<&[u8]>) -> usize {
        let many = self.rules.len() >= MANY_RULES;
        let mut counted = 0;
        self.rules.retain(|live| {
            let is_same = live.purge == purge && live.rule.as_deref() == rule && *live.name == *name;
            let is_repeated = is_same && (many || live.count_reported);
            if is_repeated && !live.count_reported {
                counted += live.count.load(Relaxed);
            }
            !is_repeated
        });
        counted
    }

    /// Gives all purges of keys and labels the number `number`, and returns their log records.
    pub(super) fn renumber(&mut self, number: u64) -> Vec<PurgeRecord> {
        let mut records = Vec::new();
        for purge in [PurgeKind::Hard, PurgeKind::Soft] {
            let is_such = |numbers: &PurgeNumbers| numbers.of(purge) > 0;
            let keys: Box<[u128]> =
                self.keys.iter().filter(|(_, n)| is_such(n)).map(|(key, _)| *key).collect();
            let labels: Box<[u64]> =
                self.labels.iter().filter(|(_, n)| is_such(n)).map(|(label, _)| *label).collect();
            if !keys.is_empty() || !labels.is_empty() {
                records.push(PurgeRecord::Exact { number, purge, keys, labels });
            }
        }
        for numbers in self.keys.values_mut().chain(self.labels.values_mut()) {
            for each in [&mut numbers.hard, &mut numbers.soft] {
                *each = if *each > 0 { number } else { 0 };
            }
        }
        records
    }

    /// Returns the verdict of the purges of keys and labels with numbers above `since` on a page, and the purges among
    /// them that are still counting and cover the page. With `count`, these purges count the page ([`count_page`]).
    pub(super) fn judge_exact(
        &self,
        since: u64,
        key: Option<u128>,
        visit_labels: impl FnOnce(&mut dyn FnMut(u64)),
        count: bool,
    ) -> (PurgeVerdict, SmallVec<[Covering<'_>; 4]>) {
        let mut found = key.and_then(|key| self.keys.get(&key)).copied().unwrap_or_default();
        let mut labels = SmallVec::<[u64; 8]>::new();
        if !self.labels.is_empty() {
            visit_labels(&mut |label| {
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
            count_page(&mut covering);
        }
        let verdict = match found {
            found if found.hard > since => PurgeVerdict::Removed,
            found if found.soft > since => PurgeVerdict::Stale,
            _ => PurgeVerdict::Unaffected,
        };
        (verdict, covering)
    }

    /// Returns the time from which soft purges with numbers above `since` make an object stale: the earliest of the
    /// times of the newest such purge of its key or labels and of the soft purges by rule that cover it. 0 if one of
    /// these times is unknown, or no such purge covers the object.
    pub(super) fn stale_from(&self, since: u64, object: &impl Purgeable<M>) -> u64 {
        let (key, meta) = (object.key(), object.meta());
        let mut soft = self.keys.get(&self.seed.hash(key)).map_or(0, |numbers| numbers.soft);
        M::labels(meta, &mut |label| soft = soft.max(self.labels.get(&label).map_or(0, |found| found.soft)));
        let exact = Some(soft).filter(|number| *number > since);
        let by_rule = self.rules_after(since).iter();
        let by_rule = by_rule.filter(|rule| rule.purge == PurgeKind::Soft && rule.covers(key, meta));
        let numbers = exact.into_iter().chain(by_rule.map(|rule| rule.number));
        numbers.map(|number| self.stale_from.get(&number).copied().unwrap_or(0)).min().unwrap_or(0)
    }

    fn rules_after(&self, since: u64) -> &[LiveRule<M>] {
        &self.rules[self.rules.partition_point(|rule| rule.number <= since)..]
    }

    /// Returns the verdict of all purges with numbers above `since` on a page. With `count`, the purges that cover the
    /// page count it ([`count_page`]).
    pub(super) fn judge(&self, since: u64, key: &[u8], meta: M::MetaView<'_>, count: bool) -> PurgeVerdict {
        let key_hash = (!self.keys.is_empty()).then(|| self.seed.hash(key));
        let (exact, mut covering) = self.judge_exact(since, key_hash, |each| M::labels(meta, each), false);
        for rule in self.rules_after(since).iter().filter(|rule| rule.covers(key, meta)) {
            covering.push((rule.number, rule.purge, &rule.count));
            if rule.purge == PurgeKind::Hard {
                break;
            }
        }
        let by_rule = covering.iter().map(|(_, purge, _)| *purge).min();
        if count {
            count_page(&mut covering);
        }
        match by_rule {
            Some(PurgeKind::Hard) => PurgeVerdict::Removed,
            Some(PurgeKind::Soft) => exact.max(PurgeVerdict::Stale),
            None => exact,
        }
    }

    /// Returns the verdict of the purges with numbers above `since` on any page, if there are such purges and all of
    /// them are purges of everything; otherwise `None`. Of these purges, those with numbers above `count` count the
    /// page; none if `count` is `None`. Purges after the first hard purge do not count the page, because the hard purge
    /// removes it.
    pub(super) fn judge_any(&self, since: u64, count: Option<u64>) -> Option<PurgeVerdict> {
        let newer = self.rules_after(since);
        if self.newest_exact > since || newer.is_empty() || newer.iter().any(|rule| rule.covers.is_some()) {
            return None;
        }
        let takes = newer.iter().position(|rule| rule.purge == PurgeKind::Hard);
        let covering = &newer[..takes.map_or(newer.len(), |takes| takes + 1)];
        for rule in covering.iter().filter(|rule| count.is_some_and(|count| rule.number > count)) {
            rule.count.fetch_add(1, Relaxed);
        }
        Some(if takes.is_some() { PurgeVerdict::Removed } else { PurgeVerdict::Stale })
    }
}

/// Purge that covers a page: its number, kind and counter.
pub(super) type Covering<'a> = (u64, PurgeKind, &'a AtomicUsize);

/// Counts a page for each purge that covers it, in the order of numbers, up to the first hard purge, which removes the
/// page.
fn count_page(covering: &mut [Covering<'_>]) {
    covering.sort_unstable_by_key(|(number, ..)| *number);
    let takes = covering.iter().position(|(_, purge, _)| *purge == PurgeKind::Hard);
    for (_, _, count) in &covering[..takes.map_or(covering.len(), |takes| takes + 1)] {
        count.fetch_add(1, Relaxed);
    }
}
