//! All purges that a restart must know.

use std::collections::HashMap;
use std::sync::atomic::AtomicUsize;

use super::exact::{ExactPurge, Numbers};
use super::record::{PurgeRecord, RulePurge};
use super::request::Purge;

/// All purges that pages may still be covered by: keys and labels with the newest purges of each, and rules.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Book {
    /// By the hash of the key under the zone's seed.
    pub keys: HashMap<u128, Numbers>,
    /// By label.
    pub labels: HashMap<u64, Numbers>,
    /// Purges by rule and of everything, in the order of their numbers.
    pub rules: Vec<RulePurge>,
}

impl Book {
    /// Notes a purge. One of everything makes those before it superfluous.
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
        if rule.rule.is_none() && rule.purge == Purge::Hard {
            // All pages from before it are gone, whatever else covers them.
            self.drop_through(rule.number);
        }
        // The later of two purges by the same rule covers what the earlier does.
        self.rules.retain(|other| {
            other.number > rule.number || other.purge != rule.purge || other.rule != rule.rule
        });
        let at = self.rules.partition_point(|other| other.number < rule.number);
        self.rules.insert(at, rule.clone());
    }

    /// Notes all purges of another book, each under its own number.
    pub fn merge(&mut self, other: &Self) {
        self.merge_exact(other, u64::MAX);
        other.rules.iter().for_each(|rule| self.note_rule(rule));
    }

    /// Notes the keys and labels of another book whose numbers are below `below`.
    pub fn merge_exact(&mut self, other: &Self, below: u64) {
        for (key, numbers) in other.keys.iter().filter(|(_, numbers)| numbers.newest() < below) {
            self.keys.entry(*key).or_default().add(*numbers);
        }
        for (label, numbers) in other.labels.iter().filter(|(_, numbers)| numbers.newest() < below) {
            self.labels.entry(*label).or_default().add(*numbers);
        }
    }

    /// Forgets the keys and labels that another book does not have.
    pub fn keep_exact_of(&mut self, other: &Self) {
        self.keys.retain(|key, _| other.keys.contains_key(key));
        self.labels.retain(|label, _| other.labels.contains_key(label));
    }

    /// The purges of keys and labels in it as one soft and one hard purge. All of a kind must bear one number.
    pub fn exact(&self) -> Vec<ExactPurge> {
        let of = |purge: Purge| {
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
        [Purge::Soft, Purge::Hard].map(of).into()
    }

    /// Drops what is known already: numbers below `comparable` that do not go beyond those of `ours`, and numbers that
    /// `heard` has.
    pub fn drop_known(&mut self, ours: &Self, comparable: u64, heard: &Self) {
        let is_known = |number: u64, ours: u64, heard: u64| {
            number == 0 || number < comparable && number <= ours || number == heard
        };
        let are_known = |theirs: &Numbers, ours: Option<&Numbers>, heard: Option<&Numbers>| {
            let (ours, heard) = (ours.copied().unwrap_or_default(), heard.copied().unwrap_or_default());
            is_known(theirs.hard, ours.hard, heard.hard) && is_known(theirs.soft, ours.soft, heard.soft)
        };
        self.keys.retain(|key, numbers| !are_known(numbers, ours.keys.get(key), heard.keys.get(key)));
        self.labels
            .retain(|label, numbers| !are_known(numbers, ours.labels.get(label), heard.labels.get(label)));
        self.rules.retain(|rule| !ours.rules.contains(rule));
    }

    /// Forgets the purges up to a number.
    pub fn drop_through(&mut self, number: u64) {
        self.keys.retain(|_, numbers| numbers.newest() > number);
        self.labels.retain(|_, numbers| numbers.newest() > number);
        self.rules.retain(|rule| rule.number > number);
    }

    /// Whether there is no purge in it.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Keys, labels and rules in it.
    pub fn len(&self) -> usize {
        self.keys.len() + self.labels.len() + self.rules.len()
    }

    /// The number of each key, label and rule.
    fn numbers(&self) -> impl Iterator<Item = u64> {
        let exact = self.keys.values().chain(self.labels.values());
        exact.map(|numbers| numbers.newest()).chain(self.rules.iter().map(|rule| rule.number))
    }

    /// The oldest number in it; `None` where it is empty.
    pub fn oldest(&self) -> Option<u64> {
        self.numbers().min()
    }

    /// The newest number in it; zero where it is empty.
    pub fn newest(&self) -> u64 {
        self.numbers().max().unwrap_or(0)
    }
}
