//! What checks have found of a peer (`health_check`).
//!
//! ```text
//! checking --passes in a row--> healthy --fails in a row--> unhealthy
//!     '------fails in a row-----------------------------------^  '--passes in a row--> healthy
//! ```

use myriad_conf::settings::HealthCheck;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// How the peers of a group are checked, beside the requests that they are given. Times in milliseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckRules {
    /// Tells the checks of a group apart, and finds them again behind a reload.
    pub name: String,
    /// The pause between two checks of a peer.
    pub interval_ms: u64,
    /// A part of a pause that chance adds, at most.
    pub jitter_ms: u64,
    /// Failures in a row that make a peer unhealthy, at least 1.
    pub fails: u32,
    /// Passed checks in a row that make it healthy, at least 1.
    pub passes: u32,
    /// A peer that is new gets no requests before it has passed.
    pub mandatory: bool,
    /// That does not hold behind a reload for a peer that was healthy before.
    pub persistent: bool,
    /// The port that is asked, where it is another than that of requests.
    pub port: Option<u16>,
}

impl CheckRules {
    /// The rules of a `health_check`, under a name that tells it apart.
    pub fn of(check: &HealthCheck, name: String) -> Self {
        Self {
            name,
            interval_ms: check.interval,
            jitter_ms: check.jitter,
            fails: check.fails,
            passes: check.passes,
            mandatory: check.mandatory,
            persistent: check.persistent,
            port: check.port,
        }
    }
}

/// What a check says of a peer; the worst one counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Verdict {
    /// Requests may come.
    Healthy,
    /// It has to pass first (`mandatory`).
    Checking,
    /// It has failed.
    Unhealthy,
}

/// What became of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Noted {
    /// A newer configuration checks the peer: nothing is noted.
    Superseded,
    /// All is as before.
    Same,
    /// The check says something else of the peer from now on.
    Changed(Verdict),
}

/// The verdicts of all checks about a peer; they outlive reloads with it.
#[derive(Debug, Default)]
pub(crate) struct Health {
    /// The worst verdict, to be read without the lock.
    worst: AtomicU8,
    said: Mutex<Said>,
}

#[derive(Debug, Default)]
struct Said {
    /// The number of the roster whose checks these are; 0 before the first.
    owner: u64,
    checks: Vec<Check>,
    counts: CheckCounts,
}

/// Counts of the checks of a peer, by the names of NGINX Plus's API.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CheckCounts {
    /// Checks that had a result.
    pub checks: u64,
    /// Those that the peer did not pass.
    pub fails: u64,
    /// How often it became unhealthy.
    pub unhealthy: u64,
    /// Whether it has passed the last one; none before the first.
    pub last_passed: Option<bool>,
}

#[derive(Debug)]
struct Check {
    name: String,
    verdict: Verdict,
    /// Results in a row that speak against the verdict.
    against: u32,
}

impl Health {
    /// The worst of the verdicts.
    pub(crate) fn worst(&self) -> Verdict {
        match self.worst.load(Relaxed) {
            0 => Verdict::Healthy,
            1 => Verdict::Checking,
            _ => Verdict::Unhealthy,
        }
    }

    /// Whether no request may come.
    pub(crate) fn is_out(&self) -> bool {
        self.worst.load(Relaxed) != 0
    }

    /// From now on the checks of that roster count, unless a newer one has taken over. What a check of the same name said before still
    /// holds, but for `mandatory`, as in nginx.
    pub(crate) fn take_over(&self, owner: u64, rules: &[CheckRules]) {
        let mut said = self.lock();
        if owner <= said.owner {
            return;
        }
        let before = std::mem::take(&mut said.checks);
        let begun = |rules: &CheckRules| {
            let known = before.iter().find(|check| check.name == rules.name).map(|check| check.verdict);
            let verdict = match known {
                Some(Verdict::Unhealthy) => Verdict::Unhealthy,
                Some(Verdict::Healthy) if rules.persistent || !rules.mandatory => Verdict::Healthy,
                _ if rules.mandatory => Verdict::Checking,
                _ => Verdict::Healthy,
            };
            Check { name: rules.name.clone(), verdict, against: 0 }
        };
        (said.owner, said.checks) = (owner, rules.iter().map(begun).collect());
        self.weigh(&said);
    }

    /// Whether the checks of a newer roster count.
    pub(crate) fn is_superseded(&self, owner: u64) -> bool {
        self.lock().owner > owner
    }

    /// Notes whether the peer has passed a check of a roster.
    pub(crate) fn note(&self, owner: u64, rules: &CheckRules, passed: bool) -> Noted {
        let mut said = self.lock();
        if said.owner != owner {
            return Noted::Superseded;
        }
        let said = &mut *said;
        let Some(check) = said.checks.iter_mut().find(|check| check.name == rules.name) else {
            return Noted::Superseded;
        };
        said.counts.checks += 1;
        said.counts.fails += u64::from(!passed);
        said.counts.last_passed = Some(passed);
        let (next, needed) =
            if passed { (Verdict::Healthy, rules.passes) } else { (Verdict::Unhealthy, rules.fails) };
        if check.verdict == next {
            check.against = 0;
            return Noted::Same;
        }
        check.against += 1;
        if check.against < needed {
            return Noted::Same;
        }
        (check.verdict, check.against) = (next, 0);
        said.counts.unhealthy += u64::from(next == Verdict::Unhealthy);
        self.weigh(said);
        Noted::Changed(next)
    }

    /// What the checks have found so far.
    pub(crate) fn counts(&self) -> CheckCounts {
        self.lock().counts
    }

    /// Counts begin anew.
    pub(crate) fn reset_counts(&self) {
        self.lock().counts = CheckCounts::default();
    }

    fn weigh(&self, said: &Said) {
        let worst = said.checks.iter().map(|check| check.verdict).max().unwrap_or(Verdict::Healthy);
        self.worst.store(worst as u8, Relaxed);
    }

    fn lock(&self) -> MutexGuard<'_, Said> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(mandatory: bool, persistent: bool) -> CheckRules {
        CheckRules { name: "c".into(), fails: 2, passes: 3, mandatory, persistent, ..CheckRules::default() }
    }

    fn noted(health: &Health, rules: &CheckRules, results: &[bool]) -> Vec<Verdict> {
        results
            .iter()
            .map(|passed| {
                health.note(1, rules, *passed);
                health.worst()
            })
            .collect()
    }

    #[test]
    fn results_in_a_row_change_the_verdict() {
        use Verdict::{Healthy, Unhealthy};
        let (health, rules) = (Health::default(), rules(false, false));
        health.take_over(1, std::slice::from_ref(&rules));
        let results = [false, true, false, false, true, true, false, true, true, true];
        let expected = [
            Healthy, Healthy, Healthy, Unhealthy, Unhealthy, Unhealthy, Unhealthy, Unhealthy, Unhealthy,
            Healthy,
        ];
        assert_eq!(noted(&health, &rules, &results), expected);
        assert_eq!(health.note(2, &rules, false), Noted::Superseded);
    }

    #[test]
    fn a_check_that_is_mandatory_begins_anew_behind_a_reload_unless_it_is_persistent() {
        for (persistent, after) in [(false, Verdict::Checking), (true, Verdict::Healthy)] {
            let (health, rules) = (Health::default(), rules(true, persistent));
            health.take_over(1, std::slice::from_ref(&rules));
            assert_eq!(
                noted(&health, &rules, &[true, true, true])[1..],
                [Verdict::Checking, Verdict::Healthy]
            );
            health.take_over(2, std::slice::from_ref(&rules));
            assert_eq!(health.worst(), after);
            assert!(health.is_superseded(1) && !health.is_superseded(2));
            health.take_over(1, &[]);
            assert_eq!(health.worst(), after, "an older configuration has no say");
            health.take_over(3, &[]);
            assert_eq!(health.worst(), Verdict::Healthy, "nobody checks it any more");
        }
    }

    #[test]
    fn what_is_unhealthy_stays_so_over_a_reload_and_the_worst_of_several_counts() {
        let (health, one) = (Health::default(), rules(false, false));
        let other = CheckRules { name: "d".into(), ..one.clone() };
        health.take_over(1, &[one.clone(), other.clone()]);
        noted(&health, &one, &[false, false]);
        noted(&health, &other, &[true, true]);
        assert_eq!(health.worst(), Verdict::Unhealthy);
        health.take_over(2, &[one, other]);
        assert!(health.is_out());
    }
}
