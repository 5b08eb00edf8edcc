//! The names of a group's servers (`server NAME resolve`): looked up at the start, and again whenever an answer has held for long enough.

use std::collections::HashSet;
use std::rc::Rc;
use std::sync::{Arc, Weak};
use std::time::Duration;

use crate::config::NamedServer;
use crate::group::Group;
use crate::member::{Members, members};
use crate::resolver::{ResolveError, ResolverConfig};
use crate::roster::Roster;

/// Bounds of how long an answer is believed, milliseconds: the shortest spares name servers, the longest ends tasks of groups that
/// are gone.
const SHORTEST_MS: u64 = 1000;
const LONGEST_MS: u64 = 3_600_000;
/// How long it is believed that a name has no address, where `valid=` does not say; as nginx.
const ABSENT_MS: u64 = 10_000;

/// Is told which name could not be resolved, and why, for the error log.
pub type TellUnresolved = Rc<dyn Fn(&str)>;

impl Group {
    /// Looks the names of its servers up from now on, in tasks of this worker's runtime that end with the group. One worker does so
    /// for all: a second call has no effect.
    pub fn follow_names(&self, tell: &TellUnresolved) {
        if self.roster.begin_to_follow() {
            tokio::task::spawn_local(follow_all(Arc::downgrade(&self.roster), Rc::clone(tell)));
        }
    }
}

/// Has each name looked up, also of servers that come while the group runs.
async fn follow_all(roster: Weak<Roster>, tell: TellUnresolved) {
    let mut followed: HashSet<u64> = HashSet::new();
    loop {
        let Some(strong) = roster.upgrade() else { return };
        let Some((resolver, timeout_ms)) = strong.resolver.clone() else { return };
        let named = strong.named();
        followed.retain(|id| named.iter().any(|(known, _)| known == id));
        for (id, named) in named {
            if !followed.insert(id) {
                continue;
            }
            let follower = Follower {
                roster: Weak::clone(&roster),
                server: id,
                named,
                resolver: Arc::clone(&resolver),
                timeout_ms,
                tell: Rc::clone(&tell),
                told: None,
                lost: Vec::new(),
            };
            tokio::task::spawn_local(follower.run());
        }
        let renamed = Arc::clone(&strong.renamed);
        drop(strong);
        renamed.notified().await;
    }
}

/// Looks one name up again and again.
struct Follower {
    roster: Weak<Roster>,
    /// The number of the server in the group.
    server: u64,
    named: NamedServer,
    resolver: Arc<ResolverConfig>,
    /// Longest wait for an answer, milliseconds (`resolver_timeout`); as long it takes until a failed look-up is repeated.
    timeout_ms: u64,
    tell: TellUnresolved,
    /// The last failure, which is not told twice.
    told: Option<ResolveError>,
    /// The servers of a service that had no address last.
    lost: Vec<(String, ResolveError)>,
}

impl Follower {
    async fn run(mut self) {
        for turn in 0.. {
            let asked = members(&self.resolver, turn, &self.named);
            let found = tokio::time::timeout(Duration::from_millis(self.timeout_ms), asked).await;
            let found = found.unwrap_or(Err(ResolveError::TimedOut));
            let Some(roster) = self.roster.upgrade() else { return };
            let wait_ms = self.take(&roster, found);
            roster.has_heard_of(self.server);
            drop(roster);
            let Some(wait_ms) = wait_ms else { return };
            tokio::time::sleep(Duration::from_millis(wait_ms.clamp(SHORTEST_MS, LONGEST_MS))).await;
            if self.roster.strong_count() == 0 {
                return;
            }
        }
    }

    /// Tells which servers of a service have no address now; those that had none before are not told again.
    fn tell_lost(&mut self, roster: &Roster, lost: Vec<(String, ResolveError)>) {
        for (name, error) in lost.iter().filter(|lost| !self.lost.contains(lost)) {
            let (service, group) = (&self.named.host, roster.name());
            (self.tell)(&format!(
                "{name} could not be resolved ({error}) while resolving {service} in upstream \"{group}\""
            ));
        }
        self.lost = lost;
    }

    /// Obeys an answer, and says how long it holds, milliseconds. As in nginx a name that is no more has no peers; any other failure
    /// changes nothing. None where the server is gone.
    fn take(&mut self, roster: &Roster, found: Result<Members, ResolveError>) -> Option<u64> {
        let error = match found {
            Ok(found) => {
                self.told = None;
                self.tell_lost(roster, found.lost);
                let holds_ms = self.resolver.valid_ms.unwrap_or(u64::from(found.ttl_s) * 1000);
                return roster.set(self.server, &found.all).then_some(holds_ms);
            }
            Err(error) => error,
        };
        let is_absent = error.is_absence();
        if self.told.as_ref() != Some(&error) {
            (self.tell)(&format!(
                "{} could not be resolved ({error}) in upstream \"{}\"",
                self.named.host,
                roster.name()
            ));
            self.told = Some(error);
        }
        if is_absent {
            let holds_ms = self.resolver.valid_ms.unwrap_or(ABSENT_MS);
            return roster.set(self.server, &[]).then_some(holds_ms);
        }
        roster.named().iter().any(|(id, _)| *id == self.server).then_some(self.timeout_ms)
    }
}
