//! Findings of the leak guard, as administrators see them.

use std::collections::VecDeque;

/// Maximum number of findings that are listed.
const MAX_FINDINGS: usize = 256;

/// State of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeakState {
    /// The value was not verified yet, or cannot be verified. If a fetch found it, the response was not stored.
    Suspected,
    /// The response to a request without the value was not complete, or had another status: it shows nothing.
    Unverified,
    /// The value is data of the visitor: a response to a request without the value lacks it, or the value is new in
    /// each response (new cookie, token of a form). For a sampled verification: an input that is not in the key changes
    /// the page.
    Confirmed,
    /// A response to a request without the value contains the value, too.
    Coincidence,
    /// The page depends on a field of requests that is not in its key. It remains shared.
    Unkeyed,
}

impl LeakState {
    /// Returns the name of the state.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Suspected => "suspected",
            Self::Unverified => "unverified",
            Self::Confirmed => "confirmed",
            Self::Coincidence => "coincidence",
            Self::Unkeyed => "unkeyed",
        }
    }
}

/// Finding of the leak guard: values of one kind, name and place in a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeakFinding {
    /// Time of the last response in which a value with this description was found, in milliseconds of the process
    /// clock.
    pub at_ms: u64,
    /// Host and path of the page.
    pub page: String,
    /// Kind, name and place of the value; never the value.
    pub what: String,
    /// Difference that a sampled verification found in the page, with shortened words; empty for other findings.
    pub difference: String,
    /// State of the last value. Once a value is confirmed, the finding remains confirmed.
    pub state: LeakState,
    /// Time until which the page is not stored, in milliseconds of the process clock; 0 if the page was not quarantined
    /// after this finding was confirmed. In the past once the quarantine is over.
    pub until_ms: u64,
    /// Number of responses in which a value with the same description (`what`) was found.
    pub count: u64,
    /// Hashes by which the page is quarantined: of its key and of its URL.
    pub(super) names: [u64; 2],
    /// Hash of the last value.
    value: u64,
    /// Number of the last change: the finding was added, got another state, or its page was quarantined.
    change: u64,
}

/// Identification of a value in a page by hashes, without the value itself.
#[derive(Clone, Copy)]
pub(super) struct FindingId<'a> {
    /// Hashes of the page's key and URL.
    pub names: [u64; 2],
    /// Hash of the value.
    pub value: u64,
    /// Kind, name and place of the value.
    pub what: &'a str,
}

/// List of findings.
#[derive(Debug, Default)]
pub(super) struct Findings {
    list: VecDeque<LeakFinding>,
    /// Number of changes of all findings so far.
    changes: u64,
}

impl Findings {
    /// Adds a finding in `page` (host and path). If the list has a finding with the same key and description,
    /// increments its count instead, and sets it to `Suspected` unless it is confirmed. If the list is full, drops the
    /// oldest finding that is not confirmed, or the oldest one if all are confirmed.
    pub(super) fn add(&mut self, id: FindingId<'_>, page: &str, now: u64) {
        if let Some(known) = self.find(id) {
            (known.at_ms, known.value) = (now, id.value);
            known.count += 1;
            return self.set_state(id, LeakState::Suspected);
        }
        if self.list.len() >= MAX_FINDINGS {
            // Clients can cause any number of coincidences: confirmed findings are dropped last.
            let dropped = self.list.iter().position(|finding| finding.state != LeakState::Confirmed);
            self.list.remove(dropped.unwrap_or(0));
        }
        self.changes += 1;
        self.list.push_back(LeakFinding {
            at_ms: now,
            page: page.to_owned(),
            what: id.what.to_owned(),
            difference: String::new(),
            state: LeakState::Suspected,
            until_ms: 0,
            count: 1,
            names: id.names,
            value: id.value,
            change: self.changes,
        });
    }

    /// Sets the state of a finding, unless it is confirmed already. A state other than `Confirmed` is set only if the
    /// last value of the finding is that of `id`.
    pub(super) fn set_state(&mut self, id: FindingId<'_>, state: LeakState) {
        let change = self.changes + 1;
        if let Some(known) = self.find(id)
            && (state == LeakState::Confirmed || known.value == id.value)
            && known.state != LeakState::Confirmed
            && known.state != state
        {
            (known.state, known.change) = (state, change);
            self.changes = change;
        }
    }

    /// Sets the difference that a sampled verification found. Has no effect if the list has no finding with this key
    /// and description.
    pub(super) fn set_difference(&mut self, id: FindingId<'_>, difference: &str) {
        if let Some(known) = self.find(id) {
            difference.clone_into(&mut known.difference);
        }
    }

    /// Sets the time until which a page is not stored, in milliseconds, in the confirmed findings of that page.
    pub(super) fn set_quarantine(&mut self, names: [u64; 2], until: u64) {
        self.changes += 1;
        let is_concerned =
            |known: &&mut LeakFinding| known.names == names && known.state == LeakState::Confirmed;
        for known in self.list.iter_mut().filter(is_concerned) {
            (known.until_ms, known.change) = (until, self.changes);
        }
    }

    /// Removes and returns the findings in `page` (host and path); all if it is `None`.
    pub(super) fn take(&mut self, page: Option<&str>) -> Vec<LeakFinding> {
        let (taken, rest) =
            self.list.drain(..).partition(|finding| page.is_none_or(|page| finding.page == page));
        self.list = rest;
        taken.into()
    }

    /// Returns the findings, latest first.
    pub(super) fn list(&self) -> Vec<LeakFinding> {
        let mut findings: Vec<LeakFinding> = self.list.iter().cloned().collect();
        findings.sort_by_key(|finding| std::cmp::Reverse(finding.at_ms));
        findings
    }

    /// Returns the number of changes so far, and the findings whose last change has a number above `change`.
    pub(super) fn changed_after(&self, change: u64) -> (u64, Vec<LeakFinding>) {
        let changed = self.list.iter().filter(|finding| finding.change > change);
        (self.changes, changed.cloned().collect())
    }

    fn find(&mut self, id: FindingId<'_>) -> Option<&mut LeakFinding> {
        self.list.iter_mut().find(|known| known.names[0] == id.names[0] && known.what == id.what)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(page: u64, value: u64, what: &str) -> FindingId<'_> {
        FindingId { names: [page, 0], value, what }
    }

    #[test]
    fn state_is_that_of_the_last_value_unless_one_was_confirmed() {
        let mut findings = Findings::default();
        let (ann, bob) = (id(1, 10, "cookie \"name\""), id(1, 11, "cookie \"name\""));
        let state = |findings: &Findings| findings.list[0].state;
        findings.add(ann, "a", 0);
        findings.add(bob, "a", 1);
        findings.set_state(ann, LeakState::Coincidence);
        assert_eq!(state(&findings), LeakState::Suspected, "of the other value");
        findings.set_state(bob, LeakState::Unverified);
        assert_eq!(state(&findings), LeakState::Unverified);
        findings.add(ann, "a", 2);
        assert_eq!(state(&findings), LeakState::Suspected);
        findings.set_state(bob, LeakState::Confirmed);
        findings.set_state(ann, LeakState::Coincidence);
        findings.add(ann, "a", 3);
        assert_eq!((state(&findings), findings.list[0].count), (LeakState::Confirmed, 4));
    }

    #[test]
    fn states_of_other_values_in_the_page_remain() {
        let mut findings = Findings::default();
        let (name, cart) = (id(1, 10, "cookie \"name\""), id(1, 11, "cookie \"cart\""));
        findings.add(name, "a", 0);
        findings.add(cart, "a", 1);
        findings.set_state(name, LeakState::Confirmed);
        findings.set_state(cart, LeakState::Coincidence);
        findings.set_quarantine([1, 0], 100);
        let states: Vec<_> = findings.list().into_iter().map(|found| (found.state, found.until_ms)).collect();
        assert_eq!(states, [(LeakState::Coincidence, 0), (LeakState::Confirmed, 100)]);
    }

    #[test]
    fn changes_are_new_findings_other_states_and_quarantines() {
        let mut findings = Findings::default();
        let name = id(1, 10, "cookie \"name\"");
        let mut last = 0;
        let mut changed = |findings: &Findings| {
            let (total, changed) = findings.changed_after(last);
            last = total;
            changed.into_iter().map(|finding| (finding.state, finding.until_ms)).collect::<Vec<_>>()
        };
        findings.add(name, "a", 0);
        findings.add(id(2, 10, "cookie"), "b", 0);
        assert_eq!(changed(&findings), [(LeakState::Suspected, 0); 2]);
        findings.add(name, "a", 1);
        assert_eq!(changed(&findings), [], "only counted");
        findings.set_state(name, LeakState::Coincidence);
        findings.set_state(name, LeakState::Confirmed);
        assert_eq!(changed(&findings), [(LeakState::Confirmed, 0)]);
        findings.set_state(name, LeakState::Confirmed);
        findings.add(name, "a", 2);
        assert_eq!(changed(&findings), []);
        findings.set_quarantine([1, 0], 100);
        assert_eq!(changed(&findings), [(LeakState::Confirmed, 100)]);
    }

    #[test]
    fn findings_are_bounded_and_confirmed_ones_remain() {
        let mut findings = Findings::default();
        findings.add(id(1000, 1, "cookie"), "page", 0);
        findings.set_state(id(1000, 1, "cookie"), LeakState::Confirmed);
        for number in 1..400 {
            findings.add(id(number, 1, "cookie"), "page", number);
        }
        let list = findings.list();
        assert_eq!((list.len(), list[0].at_ms, list[MAX_FINDINGS - 1].at_ms), (MAX_FINDINGS, 399, 0));
    }
}
