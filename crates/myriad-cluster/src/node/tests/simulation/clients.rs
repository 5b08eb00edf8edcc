//! Clients: visitors of pages, and the application that changes and purges pages.

use super::host::PageKey;
use super::world::{FetchedPage, PAGES, PurgeModel, SharedPage, World, WorldEvent};
use crate::node::{ClockMs, ClusterEvent, PurgeAnswer, PurgeTicket};

impl World {
    pub(super) fn own_durable(&mut self, host: usize, lifetime: u32, purge: usize, at: ClockMs) {
        if self.runs(host, lifetime) {
            let ticket = PurgeTicket(purge as u64);
            if self.hosts[host].is_disk_full {
                return self.node(host, ClusterEvent::PurgeNotSaved(ticket));
            }
            let PurgeModel { key, version, .. } = self.purges[purge];
            self.hosts[host].disk.purge(Some(key), lifetime, at);
            self.require(host, key, version);
            self.node(host, ClusterEvent::PurgeDurable(ticket));
        }
    }

    pub(super) fn require(&mut self, host: usize, key: PageKey, version: u32) {
        let required = self.hosts[host].required.entry(key).or_default();
        *required = version.max(*required);
    }

    pub(super) fn answer(&mut self, ticket: PurgeTicket, answer: &PurgeAnswer) {
        let purge = &mut self.purges[ticket.0 as usize];
        if purge.is_answered {
            return self.fail(&format!("purge {} was answered twice", ticket.0));
        }
        purge.is_answered = true;
        let (key, version, sender) = (purge.key, purge.version, purge.sender);
        self.trace(|| format!("answer to {}: {answer:?}", ticket.0));
        let hosts: Vec<usize> =
            (0..self.hosts.len()).filter(|&host| answer.applied.contains(&self.hosts[host].name)).collect();
        for host in hosts {
            self.require(host, key, version);
        }
        if answer.is_saved {
            self.require(sender, key, version);
        }
    }

    pub(super) fn visit(&mut self) {
        let delay = self.random.u64(1..400);
        self.after(delay, WorldEvent::Visit);
        let host = self.random.usize(..self.hosts.len());
        let key = self.random.u8(..PAGES);
        let at = &self.hosts[host];
        if at.node.is_none() || at.paused_until > self.time || at.cache.hit(key, at.readiness).is_some() {
            return;
        }
        let (lifetime, fetched_at) = (at.lifetime, at.clock.at(self.time));
        let is_admitted = |page: &&SharedPage| at.gate.admits(page.position, &[u64::from(key)], fetched_at);
        let usable = self.shared.get(&key).filter(is_admitted).copied();
        let delay = if self.random.bool() { self.random.u64(1..50) } else { self.random.u64(1..3000) };
        let page = match usable.filter(|_| self.random.u8(..10) < 8) {
            Some(page) => {
                self.shared_uses += 1;
                FetchedPage { version: page.version, fetched_at, position: None }
            }
            None => FetchedPage {
                version: self.versions[usize::from(key)],
                fetched_at,
                position: self.hosts[host].gate.position(fetched_at),
            },
        };
        self.after(delay, WorldEvent::FetchEnds { host, lifetime, key, page });
    }

    /// Stores a page that a host has fetched, on the host and for the other hosts.
    pub(super) fn end_fetch(&mut self, host: usize, lifetime: u32, key: PageKey, page: FetchedPage) {
        let FetchedPage { version, fetched_at, position } = page;
        if !self.runs(host, lifetime) || !self.hosts[host].cache.store(key, version, fetched_at) {
            return;
        }
        if self.random.u8(..10) < 8 && !self.hosts[host].is_disk_full {
            self.hosts[host].disk.store(key, version, lifetime, fetched_at);
        }
        if let Some(position) = position
            && !self.hosts[host].is_cut
        {
            self.shared.insert(key, SharedPage { version, position });
        }
    }

    pub(super) fn change(&mut self) {
        if !self.is_healed {
            let delay = if self.random.bool() { self.random.u64(..20) } else { self.random.u64(..3000) };
            self.after(delay, WorldEvent::Change);
        }
        let host = self.random.usize(..self.hosts.len());
        let key = self.random.u8(..PAGES);
        self.change_page(host, key);
    }

    /// Changes a page and purges it on a host that runs.
    pub(super) fn change_page(&mut self, host: usize, key: PageKey) {
        let at = &self.hosts[host];
        if at.node.is_some() && at.paused_until <= self.time && !at.is_stopping {
            let wait_ms = self.random.u64(..3000);
            self.purge(host, key, wait_ms);
        }
    }

    /// Changes a page and purges it on a host that runs, whose zone does not belong to the cluster at this moment.
    pub(super) fn purge_outside_cluster(&mut self, host: usize, key: PageKey) {
        let at = &mut self.hosts[host];
        if at.node.is_none() || at.paused_until > self.time {
            return;
        }
        self.versions[usize::from(key)] += 1;
        at.cache.purge(key, at.clock.at(self.time));
        at.required_in_lifetime.insert(key, self.versions[usize::from(key)]);
        at.gate.begin_gap();
        self.node(host, ClusterEvent::Gap);
        self.hosts[host].gate.end_own_purge();
    }

    /// Changes a page and purges it on a host. Returns the number of the purge.
    pub(super) fn purge(&mut self, host: usize, key: PageKey, wait_ms: u64) -> usize {
        let at = &mut self.hosts[host];
        self.versions[usize::from(key)] += 1;
        let version = self.versions[usize::from(key)];
        let now = at.clock.at(self.time);
        at.gate.begin_own_purge(Some(&[u64::from(key)]));
        at.cache.purge(key, now);
        at.required_in_lifetime.insert(key, version);
        let (lifetime, number) = (at.lifetime, self.purges.len());
        self.trace(|| format!("host {host}: purge {number} of page {key}, version {version}"));
        self.purges.push(PurgeModel {
            key,
            version,
            time: self.time,
            sender: host,
            lifetime,
            is_lost: false,
            is_answered: false,
        });
        let delay = self.random.u64(1..100);
        self.after(delay, WorldEvent::OwnDurable { host, lifetime, purge: number, at: now });
        let mut body = (number as u32).to_le_bytes().to_vec();
        body.resize(body.len() + self.padding, 0);
        let event = ClusterEvent::Purge {
            ticket: PurgeTicket(number as u64),
            zone: "pages".to_owned(),
            body,
            wait_ms,
        };
        self.node(host, event);
        self.hosts[host].gate.end_own_purge();
        number
    }
}
