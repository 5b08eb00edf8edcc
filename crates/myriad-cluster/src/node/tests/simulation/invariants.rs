//! Invariants of the cluster.

use super::host::PageKey;
use super::world::{BOUND_MS, PAGES, SLACK_MS, World};
use crate::node::{LinkState, NodeTimings, PartitionPolicy, Readiness};
use crate::record::{EntryId, LogRecord, RecordContents, StoredNode};

impl World {
    /// Checks every page that a request would get now:
    ///
    /// 1. It is not older than a purge that its host has confirmed, or that was requested on its host.
    /// 2. It is not older than any other purge that was requested before the bound of `partition`.
    pub(super) fn check_hits(&mut self) {
        self.note_overdue();
        for host in 0..self.hosts.len() {
            let at = &self.hosts[host];
            // A process that continues after a suspension handles its timers before requests.
            let has_late_timer = at.tick_at.is_some_and(|tick_at| tick_at < self.time);
            if at.node.is_none() || at.paused_until > self.time || has_late_timer {
                continue;
            }
            for key in 0..PAGES {
                let Some(page) = at.cache.hit(key, at.readiness) else { continue };
                let required = at.required.get(&key).max(at.required_in_lifetime.get(&key));
                if required.is_some_and(|&required| page.version < required) {
                    let text = format!(
                        "host {host} serves page {key} older than a purge that it confirmed: {page:?}, {required:?}"
                    );
                    return self.fail(&text);
                }
                if page.version < self.overdue[usize::from(key)]
                    && let Some(purge) = self.violated_purge(host, key, page.version)
                {
                    let text = format!(
                        "host {host} serves page {key} longer than the bound after purge {purge} of {} at {}: {page:?}, {:?}",
                        self.purges[purge].sender, self.purges[purge].time, at.readiness
                    );
                    return self.fail(&text);
                }
            }
        }
    }

    /// Time after which a purge must be in effect on all hosts.
    fn limit_ms(&self) -> u64 {
        let bound = match self.policy {
            PartitionPolicy::Serve { bound_ms } => bound_ms,
            PartitionPolicy::Strict => NodeTimings::default().detection_ms,
        };
        debug_assert!(bound <= BOUND_MS);
        bound + SLACK_MS
    }

    fn note_overdue(&mut self) {
        let limit_ms = self.limit_ms();
        while let Some(purge) = self.purges.get(self.overdue_purges)
            && purge.time + limit_ms < self.time
        {
            let overdue = &mut self.overdue[usize::from(purge.key)];
            *overdue = purge.version.max(*overdue);
            self.overdue_purges += 1;
        }
    }

    /// Notes which hosts are missing in the list of members that a host has read. Their earlier purges may arrive late.
    pub(super) fn note_unlisted(&mut self, host: usize) {
        for sender in (0..self.hosts.len()).filter(|&sender| sender != host) {
            let is_unlisted =
                self.hosts[host].node.as_ref().is_some_and(|node| node.lacks(&self.hosts[sender].name));
            if is_unlisted {
                self.hosts[host].unlisted_until.insert(sender, self.time);
            }
        }
    }

    /// Returns an overdue purge that a page of this version violates. A purge does not count if faults destroyed every
    /// copy, or if its node was not a member of the cluster.
    fn violated_purge(&self, host: usize, key: PageKey, version: u32) -> Option<usize> {
        let node = self.hosts[host].node.as_ref()?;
        (0..self.overdue_purges).find(|&number| {
            let purge = &self.purges[number];
            let sender = &self.hosts[purge.sender];
            let unlisted_until = self.hosts[host].unlisted_until.get(&purge.sender);
            let was_listed = unlisted_until.is_none_or(|&until| purge.time > until);
            let is_member = purge.sender == host || node.expects(&sender.name) && was_listed;
            purge.key == key && purge.version > version && !purge.is_lost && is_member
        })
    }

    /// Numbers of purges of which a copy exists. Faults may destroy copies; nodes may not.
    pub(super) fn existing_purges(&self) -> Vec<usize> {
        (0..self.purges.len()).filter(|&number| !self.purges[number].is_lost && self.exists(number)).collect()
    }

    /// Notes which of these purges no longer exist anywhere after a fault.
    pub(super) fn note_losses(&mut self, before: &[usize]) {
        for &number in before {
            self.purges[number].is_lost = !self.exists(number);
        }
    }

    /// Returns true if a purge is in the log, in a node's memory, or in a position file.
    fn exists(&self, number: usize) -> bool {
        let body = (number as u32).to_le_bytes();
        let in_memory =
            |host: &super::host::HostModel| host.node.as_ref().is_some_and(|node| node.holds(&body));
        if self.hosts.iter().any(in_memory) {
            return true;
        }
        let stored = |host: &super::host::HostModel| {
            let position = host.disk.position.as_ref()?;
            StoredNode::decode(&self.secret, &host.name, position).ok()
        };
        let on_disk = |stored: StoredNode| stored.pending.iter().any(|purge| *purge.body == body);
        if self.hosts.iter().filter_map(stored).any(on_disk) {
            return true;
        }
        self.servers[self.primary].data.log.entries.iter().any(|(&id, value)| {
            LogRecord::decode(&self.secret, id, value).is_ok_and(|(record, _)| match record.contents {
                RecordContents::Purges(purges) => purges.iter().any(|purge| *purge.body == body),
                RecordContents::Newer => false,
            })
        })
    }

    /// Returns the newest valid record of the log.
    fn newest_record(&self) -> Option<EntryId> {
        let entries = self.servers[self.primary].data.log.entries.iter().rev();
        let mut valid = entries.filter(|(id, value)| LogRecord::decode(&self.secret, **id, value).is_ok());
        valid.next().map(|(&id, _)| id)
    }

    /// Returns true if all hosts serve pages and have applied the whole log.
    pub(super) fn is_settled(&self) -> bool {
        let newest = self.newest_record();
        let is_settled = |host: &super::host::HostModel| {
            let applied = host.node.as_ref().map(|node| node.status(host.clock.at(self.time)).applied);
            host.readiness == Readiness::Serving && applied == Some(newest)
        };
        self.hosts.iter().all(is_settled)
    }

    /// Checks, some time after the last fault, that all nodes agree and that nothing is missing.
    pub(super) fn check_convergence(&mut self) {
        let newest = self.newest_record();
        for host in 0..self.hosts.len() {
            let at = &self.hosts[host];
            let Some(node) = &at.node else { return self.fail(&format!("host {host} does not run")) };
            let status = node.status(at.clock.at(self.time));
            let is_converged = status.link == LinkState::Following
                && status.read == newest
                && status.applied == newest
                && status.pending_count == 0
                && status.readiness == Readiness::Serving
                && !status.is_name_taken
                && status.members.len() + 1 == self.hosts.len();
            if !is_converged {
                return self.fail(&format!("host {host} has not converged to {newest:?}: {status:#?}"));
            }
            if !at.gate.admits_newest(&[u64::from(PAGES)]) {
                return self.fail(&format!("host {host} does not use pages of other hosts: {:?}", at.gate));
            }
            for key in 0..PAGES {
                let Some(page) = at.cache.hit(key, at.readiness) else { continue };
                let missing = (0..self.purges.len()).find(|&number| {
                    let purge = &self.purges[number];
                    let sender = &self.hosts[purge.sender];
                    let is_sender_alive = self.runs(purge.sender, purge.lifetime) && !sender.is_stopping;
                    purge.key == key && purge.version > page.version && (!purge.is_lost || is_sender_alive)
                });
                if let Some(number) = missing {
                    return self
                        .fail(&format!("host {host} has page {key} without purge {number}: {page:?}"));
                }
            }
        }
        for number in 0..self.purges.len() {
            let purge = &self.purges[number];
            if !purge.is_answered && self.runs(purge.sender, purge.lifetime) {
                return self.fail(&format!("purge {number} was not answered"));
            }
        }
    }
}
