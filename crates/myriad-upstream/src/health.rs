//! Results of active health checks of a peer (`health_check`).
//!
//! ```text
//! checking --consecutive passes--> healthy --consecutive fails--> unhealthy
//!     '------consecutive fails---------------------------------^  '--consecutive passes--> healthy
//! ```

use myriad_conf::settings::HealthCheck;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Parameters of an active health check of the peers of a group. Times are in milliseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckRules {
    /// Name that identifies the health check in its group, also after a reload.
    pub name: String,
    /// Pause between two probes of a peer.
    pub interval_ms: u64,
    /// Maximum random addition to the pause between two probes.
    pub jitter_ms: u64,
    /// Number of consecutive failed probes that make a peer unhealthy, at least 1.
    pub fails: u32,
    /// Number of consecutive passed probes that make a peer healthy, at least 1.
    pub passes: u32,
    /// True if a peer gets no requests before it has passed the check.
    pub mandatory: bool,
    /// True if peers that were healthy before a reload may get requests after it without passing the check again,
    /// despite `mandatory` (`persistent`).
    pub persistent: bool,
    /// Port of the health check; `None` for the port of requests.
    pub port: Option<u16>,
}

impl CheckRules {
    /// Converts a `health_check` directive; `name` identifies the check.
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

/// State of a peer in a health check, ascending by severity: with several checks, the worst applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum HealthVerdict {
    /// The peer may get requests.
    Healthy,
    /// The peer gets no requests before it has passed the check (`mandatory`).
    Checking,
    /// The peer has failed the check and gets no requests.
    Unhealthy,
}

/// Effect of a probe's result on the state of its peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CheckOutcome {
    /// A newer configuration uses the peer; the result is ignored.
    Superseded,
    /// The state of the peer in this check is unchanged.
    Same,
    /// The peer has this new state in the check.
    Changed(HealthVerdict),
}

/// States of all checks of a peer, retained over reloads.
#[derive(Debug, Default)]
pub(crate) struct PeerHealth {
    /// Worst state of all health checks of the peer as a number, readable without the lock.
    worst: AtomicU8,
    state: Mutex<CheckStates>,
}

#[derive(Debug, Default)]
struct CheckStates {
    /// Number of the roster (the peers of a group in one configuration) whose probe results are recorded in `checks`;
    /// results for other rosters are ignored. 0 until a roster takes over the checks.
    owner: u64,
    checks: Vec<Check>,
    counts: CheckCounts,
}

/// Counters of the checks of a peer, named as in NGINX Plus's API.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CheckCounts {
    /// Number of probes of the peer that passed or failed; probes without a result do not count.
    pub checks: u64,
    /// Number of failed probes of the peer.
    pub fails: u64,
    /// Number of times that a health check of the peer changed to unhealthy.
    pub unhealthy: u64,
    /// Result of the last probe of the peer; `None` before the first, and after the counters were reset.
    pub last_passed: Option<bool>,
}

#[derive(Debug)]
struct Check {
    name: String,
    verdict: HealthVerdict,
    /// Result of the last probe; `None` before the first since the start or reload.
    last_passed: Option<bool>,
    /// Number of consecutive probes with the last result.
    repeats: u32,
}

impl PeerHealth {
    /// Returns the worst state of all health checks of the peer.
    pub(crate) fn worst(&self) -> HealthVerdict {
        match self.worst.load(Relaxed) {
            0 => HealthVerdict::Healthy,
            1 => HealthVerdict::Checking,
            _ => HealthVerdict::Unhealthy,
        }
    }

    /// Returns whether the peer must not get requests because of its health checks.
    pub(crate) fn is_excluded(&self) -> bool {
        self.worst.load(Relaxed) != 0
    }

    /// Makes the roster with the number `owner` the owner of the checks, unless this roster or a newer roster already
    /// owns them. A check of the same name retains its state, with two exceptions: as in nginx, a healthy peer must
    /// pass a `mandatory` check again unless the check is `persistent`; and a peer in the state `Checking` is healthy
    /// if the check is no longer `mandatory`. In a new check, the state is `Checking` if the check is `mandatory`,
    /// otherwise `Healthy`.
    pub(crate) fn take_over(&self, owner: u64, rules: &[CheckRules]) {
        let mut state = self.lock();
        if owner <= state.owner {
            return;
        }
        let before = std::mem::take(&mut state.checks);
        let begun = |rules: &CheckRules| {
            let known = before.iter().find(|check| check.name == rules.name).map(|check| check.verdict);
            let verdict = match known {
                Some(HealthVerdict::Unhealthy) => HealthVerdict::Unhealthy,
                Some(HealthVerdict::Healthy) if rules.persistent || !rules.mandatory => {
                    HealthVerdict::Healthy
                }
                _ if rules.mandatory => HealthVerdict::Checking,
                _ => HealthVerdict::Healthy,
            };
            Check { name: rules.name.clone(), verdict, last_passed: None, repeats: 0 }
        };
        (state.owner, state.checks) = (owner, rules.iter().map(begun).collect());
        self.update_worst(&state);
    }

    /// Returns whether a newer roster than `owner` owns the checks.
    pub(crate) fn is_superseded(&self, owner: u64) -> bool {
        self.lock().owner > owner
    }

    /// Records the result of a probe for the check `rules` of the roster `owner`. Changes the state of the peer in this
    /// check after the required number of consecutive equal results.
    pub(crate) fn record(&self, owner: u64, rules: &CheckRules, passed: bool) -> CheckOutcome {
        let mut state = self.lock();
        if state.owner != owner {
            return CheckOutcome::Superseded;
        }
        let state = &mut *state;
        let Some(check) = state.checks.iter_mut().find(|check| check.name == rules.name) else {
            return CheckOutcome::Superseded;
        };
        state.counts.checks += 1;
        state.counts.fails += u64::from(!passed);
        state.counts.last_passed = Some(passed);
        let (next, needed) = if passed {
            (HealthVerdict::Healthy, rules.passes)
        } else {
            (HealthVerdict::Unhealthy, rules.fails)
        };
        check.repeats = if check.last_passed == Some(passed) { check.repeats.saturating_add(1) } else { 1 };
        check.last_passed = Some(passed);
        if check.verdict == next || check.repeats < needed {
            return CheckOutcome::Same;
        }
        check.verdict = next;
        state.counts.unhealthy += u64::from(next == HealthVerdict::Unhealthy);
        self.update_worst(state);
        CheckOutcome::Changed(next)
    }

    /// Returns the counters of all checks of the peer.
    pub(crate) fn counts(&self) -> CheckCounts {
        self.lock().counts
    }

    /// Resets the counters of all checks of the peer.
    pub(crate) fn reset_counts(&self) {
        self.lock().counts = CheckCounts::default();
    }

    fn update_worst(&self, state: &CheckStates) {
        let worst = state.checks.iter().map(|check| check.verdict).max().unwrap_or(HealthVerdict::Healthy);
        self.worst.store(worst as u8, Relaxed);
    }

    fn lock(&self) -> MutexGuard<'_, CheckStates> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(mandatory: bool, persistent: bool) -> CheckRules {
        CheckRules { name: "c".into(), fails: 2, passes: 3, mandatory, persistent, ..CheckRules::default() }
    }

    fn noted(health: &PeerHealth, rules: &CheckRules, results: &[bool]) -> Vec<HealthVerdict> {
        results
            .iter()
            .map(|passed| {
                health.record(1, rules, *passed);
                health.worst()
            })
            .collect()
    }

    #[test]
    fn results_in_a_row_change_the_verdict() {
        use HealthVerdict::{Healthy, Unhealthy};
        let (health, rules) = (PeerHealth::default(), rules(false, false));
        health.take_over(1, std::slice::from_ref(&rules));
        let results = [false, true, false, false, true, true, false, true, true, true];
        let expected = [
            Healthy, Healthy, Healthy, Unhealthy, Unhealthy, Unhealthy, Unhealthy, Unhealthy, Unhealthy,
            Healthy,
        ];
        assert_eq!(noted(&health, &rules, &results), expected);
        assert_eq!(health.record(2, &rules, false), CheckOutcome::Superseded);
    }

    #[test]
    fn first_verdict_needs_equal_results_in_a_row() {
        use HealthVerdict::{Checking, Healthy, Unhealthy};
        for (results, verdict) in [
            (&[false, true, true, true][..], Healthy),
            (&[true, true, false, true, true, true], Healthy),
            (&[true, false, false], Unhealthy),
            (&[false, true, true, false, false], Unhealthy),
        ] {
            let (health, rules) = (PeerHealth::default(), rules(true, false));
            health.take_over(1, std::slice::from_ref(&rules));
            let mut expected = vec![Checking; results.len() - 1];
            expected.push(verdict);
            assert_eq!(noted(&health, &rules, results), expected, "{results:?}");
        }
    }

    #[test]
    fn mandatory_check_restarts_after_reload_unless_persistent() {
        for (persistent, after) in [(false, HealthVerdict::Checking), (true, HealthVerdict::Healthy)] {
            let (health, rules) = (PeerHealth::default(), rules(true, persistent));
            health.take_over(1, std::slice::from_ref(&rules));
            assert_eq!(
                noted(&health, &rules, &[true, true, true])[1..],
                [HealthVerdict::Checking, HealthVerdict::Healthy]
            );
            health.take_over(2, std::slice::from_ref(&rules));
            assert_eq!(health.worst(), after);
            assert!(health.is_superseded(1) && !health.is_superseded(2));
            health.take_over(1, &[]);
            assert_eq!(health.worst(), after, "an older configuration has no say");
            health.take_over(3, &[]);
            assert_eq!(health.worst(), HealthVerdict::Healthy, "nobody checks it any more");
        }
    }

    #[test]
    fn what_is_unhealthy_stays_so_over_a_reload_and_the_worst_of_several_counts() {
        let (health, one) = (PeerHealth::default(), rules(false, false));
        let other = CheckRules { name: "d".into(), ..one.clone() };
        health.take_over(1, &[one.clone(), other.clone()]);
        noted(&health, &one, &[false, false]);
        noted(&health, &other, &[true, true]);
        assert_eq!(health.worst(), HealthVerdict::Unhealthy);
        health.take_over(2, &[one, other]);
        assert!(health.is_excluded());
    }
}
