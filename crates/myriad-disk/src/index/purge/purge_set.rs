//! Purges that must survive a restart: the contents of the purge log.

use std::collections::HashMap;
use std::sync::atomic::AtomicUsize;

use super::exact::{ExactPurge, PurgeNumbers};
use super::record::{PurgeRecord, RulePurge};
use super::request::PurgeKind;

/// Purges that may still cover pages: the newest numbers of each key and label, and rules.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PurgeSet {
    /// Numbers of the newest purges of each key, by key hash under the zone's seed.
    pub keys: HashMap<u128, PurgeNumbers>,
    /// Numbers of the newest purges of each label (hash of a URL or tag).
    pub labels: HashMap<u64, PurgeNumbers>,
    /// Purges by rule and of everything, ordered by number.
    pub rules: Vec<RulePurge>,
}

impl PurgeSet {
    /// Adds a purge. It replaces earlier purges of the same kind by the same rule; of each key and label only the
    /// newest numbers remain. A hard purge of everything removes all purges with the same or a lower number.
    pub fn note(&mut self, record: &PurgeRecord) {
        match record {
            PurgeRecord::Exact { number, purge, keys, labels } => {
                for key in keys {
                    self.keys.entry(*key).or_default().note(*number, *purge);
                }
                for label in labels {
                    self.labels.entry(*label).or_default().note(*number, *purge);
                }
            }
            PurgeRecord::Rule(rule) => self.note_rule(rule),
        }
    }

    pub(super) fn note_rule(&mut self, rule: &RulePurge) {
        if rule.rule.is_none() && rule.purge == PurgeKind::Hard {
            // All pages from before it are purged, regardless of other purges.
            self.drop_through(rule.number);
        }
        // The later of two equal purges covers all pages of the earlier purge.
        self.rules.retain(|other| {
            other.number > rule.number || other.purge != rule.purge || other.rule != rule.rule
        });
        let at = self.rules.partition_point(|other| other.number < rule.number);
        self.rules.insert(at, rule.clone());
    }

    /// Adds all purges of another set, without changing their numbers.
    pub fn merge(&mut self, other: &Self) {
        self.merge_exact(other, u64::MAX);
        other.rules.iter().for_each(|rule| self.note_rule(rule));
    }

    /// Adds the keys and labels of another set whose numbers are all below `below`.
    pub fn merge_exact(&mut self, other: &Self, below: u64) {
        for (key, numbers) in other.keys.iter().filter(|(_, numbers)| numbers.newest() < below) {
            self.keys.entry(*key).or_default().add(*numbers);
        }
        for (label, numbers) in other.labels.iter().filter(|(_, numbers)| numbers.newest() < below) {
            self.labels.entry(*label).or_default().add(*numbers);
        }
    }

    /// Removes the keys and labels that `other` does not contain, whatever their numbers. Rules remain.
    pub fn retain_exact_of(&mut self, other: &Self) {
        self.keys.retain(|key, _| other.keys.contains_key(key));
        self.labels.retain(|label, _| other.labels.contains_key(label));
    }

    /// Returns all keys and labels as one soft and one hard purge. Requires that all purges of a kind have the same
    /// number.
    pub fn exact(&self) -> Vec<ExactPurge> {
        let of = |purge: PurgeKind| {
            let keys = self.keys.iter().filter(|(_, numbers)| numbers.of(purge) > 0).map(|(key, _)| *key);
            let labels = self.labels.iter().filter(|(_, numbers)| numbers.of(purge) > 0);
            let all = self.keys.values().chain(self.labels.values()).map(|numbers| numbers.of(purge));
            ExactPurge {
                number: all.max().unwrap_or(0),
                purge,
                keys: keys.collect(),
                names: Box::default(),
                labels: labels.map(|(label, _)| *label).collect(),
                count: AtomicUsize::new(0),
            }
        };
        [PurgeKind::Soft, PurgeKind::Hard].map(of).into()
    }

    /// Removes purges that this process knows already: a key or label if both of its numbers (hard, soft) are 0, or
    /// equal to the number in `heard`, or below `comparable` and not above the number in `ours`; and each rule that
    /// `ours` contains.
    pub fn drop_known(&mut self, ours: &Self, comparable: u64, heard: &Self) {
        let is_known = |number: u64, ours: u64, heard: u64| {
            number == 0 || number < comparable && number <= ours || number == heard
        };
        let are_known = |theirs: &PurgeNumbers, ours: Option<&PurgeNumbers>, heard: Option<&PurgeNumbers>| {
            let (ours, heard) = (ours.copied().unwrap_or_default(), heard.copied().unwrap_or_default());
            is_known(theirs.hard, ours.hard, heard.hard) && is_known(theirs.soft, ours.soft, heard.soft)
        };
        self.keys.retain(|key, numbers| !are_known(numbers, ours.keys.get(key), heard.keys.get(key)));
        self.labels
            .retain(|label, numbers| !are_known(numbers, ours.labels.get(label), heard.labels.get(label)));
        self.rules.retain(|rule| !ours.rules.contains(rule));
    }

    /// Removes the keys and labels whose newest purge has at most the number `number`, and the rules with at most this
    /// number.
    pub fn drop_through(&mut self, number: u64) {
        self.keys.retain(|_, numbers| numbers.newest() > number);
        self.labels.retain(|_, numbers| numbers.newest() > number);
        self.rules.retain(|rule| rule.number > number);
    }

    /// Returns true if the set contains no purge.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of keys, labels and rules in the set.
    pub fn len(&self) -> usize {
        self.keys.len() + self.labels.len() + self.rules.len()
    }

    /// Returns the number of the newest purge of each key and label, and the number of each purge by rule.
    fn numbers(&self) -> impl Iterator<Item = u64> {
        let exact = self.keys.values().chain(self.labels.values());
        exact.map(|numbers| numbers.newest()).chain(self.rules.iter().map(|rule| rule.number))
    }

    /// Returns the lowest number in the set, in which only the newest purge of each key and label counts; `None` if the
    /// set is empty.
    pub fn oldest(&self) -> Option<u64> {
        self.numbers().min()
    }

    /// Returns the highest number of a purge in the set; 0 if the set is empty.
    pub fn newest(&self) -> u64 {
        self.numbers().max().unwrap_or(0)
    }
}
