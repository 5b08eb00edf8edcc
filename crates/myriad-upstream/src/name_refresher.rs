//! Run-time resolution of server names (`server NAME resolve`): once at the start, then whenever the last result
//! expires.

use std::cell::RefCell;
use std::collections::HashSet;
use std::rc::Rc;
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::task::JoinError;

use crate::config::NamedServer;
use crate::group::Group;
use crate::resolved_server::{ResolvedServers, members};
use crate::resolver::{ResolveError, ResolverConfig};
use crate::restart::spawn_restarting;
use crate::roster::Roster;

/// Minimum delay in milliseconds between two resolutions of a name, which protects name servers. [`MAX_VALID_MS`] is
/// the maximum: a task detects after at most this time that its group was dropped.
const MIN_VALID_MS: u64 = 1000;
const MAX_VALID_MS: u64 = 3_600_000;
/// Validity in milliseconds of the result that a name does not exist, without `valid=`, as in nginx.
const ABSENT_MS: u64 = 10_000;

/// Callback for the error log, called with a message when a name cannot be resolved, or when its resolution is
/// restarted after a panic.
pub type UnresolvedLogger = Rc<dyn Fn(&str)>;

impl Group {
    /// Starts to resolve the names of the servers, in tasks on the current thread that stop when the group is dropped.
    /// No effect if the group has no resolver, or a worker has already started this for the group.
    pub fn follow_names(&self, log_unresolved: &UnresolvedLogger) {
        if self.roster.begin_resolving() {
            let followed = FollowedNames {
                roster: Arc::downgrade(&self.roster),
                log_unresolved: Rc::clone(log_unresolved),
                servers: RefCell::default(),
            };
            spawn_restarting(Rc::new(followed), FollowedNames::follow, FollowedNames::log_panic);
        }
    }
}

/// Server names of a group; a task resolves each name.
struct FollowedNames {
    roster: Weak<Roster>,
    log_unresolved: UnresolvedLogger,
    /// Identifiers of the servers that have a task.
    servers: RefCell<HashSet<u64>>,
}

impl FollowedNames {
    /// Starts a task for each host name of the servers, which resolves it repeatedly; also for servers that are added
    /// at run time. Returns when the group is dropped or has no resolver.
    async fn follow(self: Rc<Self>) {
        loop {
            let Some(roster) = self.roster.upgrade() else { return };
            let Some((resolver, timeout_ms)) = roster.resolver.clone() else { return };
            let named = roster.named();
            self.servers.borrow_mut().retain(|id| named.iter().any(|(known, _)| known == id));
            for (id, named) in named {
                if !self.servers.borrow_mut().insert(id) {
                    continue;
                }
                let refresher = NameRefresher {
                    roster: Weak::clone(&self.roster),
                    server: id,
                    named,
                    resolver: Arc::clone(&resolver),
                    timeout_ms,
                    log_unresolved: Rc::clone(&self.log_unresolved),
                    last_logged: None,
                    lost: Vec::new(),
                };
                spawn_restarting(Rc::clone(&self), move |_| refresher.clone().run(), Self::log_panic);
            }
            let renamed = Arc::clone(&roster.names_changed);
            drop(roster);
            renamed.notified().await;
        }
    }

    fn log_panic(&self, panic: &JoinError) {
        let Some(roster) = self.roster.upgrade() else { return };
        let group = roster.name();
        (self.log_unresolved)(&format!(
            "resolution of server names in upstream \"{group}\" is restarted after an internal error: {panic}"
        ));
    }
}

/// Periodic resolution of a single name.
#[derive(Clone)]
struct NameRefresher {
    roster: Weak<Roster>,
    /// Identifier, in its group, of the server whose name is resolved.
    server: u64,
    named: NamedServer,
    resolver: Arc<ResolverConfig>,
    /// Timeout of a resolution in milliseconds (`resolver_timeout`); also the delay before the next resolution after a
    /// failure other than a missing name.
    timeout_ms: u64,
    log_unresolved: UnresolvedLogger,
    /// Failure logged last, `None` after a success; the same failure is not logged twice in a row.
    last_logged: Option<ResolveError>,
    /// Servers of a service (SRV records) that had no address in the last result, each with the reason.
    lost: Vec<(String, ResolveError)>,
}

impl NameRefresher {
    async fn run(mut self) {
        for turn in 0.. {
            let asked = members(&self.resolver, turn, &self.named);
            let found = tokio::time::timeout(Duration::from_millis(self.timeout_ms), asked).await;
            let found = found.unwrap_or(Err(ResolveError::TimedOut));
            let Some(roster) = self.roster.upgrade() else { return };
            let wait_ms = self.apply_result(&roster, found);
            roster.note_resolved(self.server);
            drop(roster);
            let Some(wait_ms) = wait_ms else { return };
            tokio::time::sleep(Duration::from_millis(wait_ms.clamp(MIN_VALID_MS, MAX_VALID_MS))).await;
            if self.roster.strong_count() == 0 {
                return;
            }
        }
    }

    /// Logs the servers of a service that have no address now, except those with the same failure in the last result.
    fn log_lost_servers(&mut self, roster: &Roster, lost: Vec<(String, ResolveError)>) {
        for (name, error) in lost.iter().filter(|lost| !self.lost.contains(lost)) {
            let (service, group) = (&self.named.host, roster.name());
            (self.log_unresolved)(&format!(
                "{name} could not be resolved ({error}) while resolving {service} in upstream \"{group}\""
            ));
        }
        self.lost = lost;
    }

    /// Applies a resolution result to the group and returns the delay in milliseconds before the next resolution;
    /// `None` if the server has been removed.
    ///
    /// As in nginx, a name that does not exist has no peers; after any other failure, the peers remain.
    fn apply_result(&mut self, roster: &Roster, found: Result<ResolvedServers, ResolveError>) -> Option<u64> {
        let error = match found {
            Ok(found) => {
                self.last_logged = None;
                self.log_lost_servers(roster, found.unresolved);
                let holds_ms = self.resolver.valid_ms.unwrap_or(u64::from(found.ttl_s) * 1000);
                return roster.set(self.server, &found.all).then_some(holds_ms);
            }
            Err(error) => error,
        };
        let is_absent = error.is_absence();
        if self.last_logged.as_ref() != Some(&error) {
            (self.log_unresolved)(&format!(
                "{} could not be resolved ({error}) in upstream \"{}\"",
                self.named.host,
                roster.name()
            ));
            self.last_logged = Some(error);
        }
        if is_absent {
            let holds_ms = self.resolver.valid_ms.unwrap_or(ABSENT_MS);
            return roster.set(self.server, &[]).then_some(holds_ms);
        }
        roster.named().iter().any(|(id, _)| *id == self.server).then_some(self.timeout_ms)
    }
}
