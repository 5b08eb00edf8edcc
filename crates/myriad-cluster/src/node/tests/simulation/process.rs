//! The process of a host: the production node, and the execution of its actions.

use super::host::PageKey;
use super::world::{FaultEnd, PAGES, World, WorldEvent};
use crate::gate::PageGate;
use crate::node::{
    BatchNumber, ClockMs, ClusterAction, ClusterEvent, ClusterNode, NodeCounters, NodeSettings, NodeStart,
    Readiness,
};
use crate::record::StartId;

impl World {
    /// Starts the process of a host.
    pub(super) fn start(&mut self, host: usize) {
        if self.hosts[host].node.is_some() {
            return;
        }
        let seed = self.random.u64(..);
        let settings = NodeSettings {
            node: self.hosts[host].name.clone(),
            secret: self.secret.clone(),
            partition: self.policy,
            address: format!("10.0.0.{host}"),
            servers: String::new(),
            software: "simulation".to_owned(),
            timings: self.timings.clone(),
        };
        let at = &mut self.hosts[host];
        at.lifetime += 1;
        at.cache = at.disk.load();
        at.gate = PageGate::default();
        at.tick_at = None;
        at.is_stopping = false;
        at.required_in_lifetime.clear();
        let mut start = [0; 16];
        start[0] = host as u8;
        start[1..5].copy_from_slice(&at.lifetime.to_le_bytes());
        let now = at.clock.at(self.time);
        let node_start = NodeStart {
            start: StartId(start),
            boot: [host as u8; 16],
            stored: at.disk.position.clone(),
            has_pages: !at.cache.pages.is_empty(),
            seed,
            counters: NodeCounters::default(),
        };
        let mut node = ClusterNode::new(settings, node_start, now);
        node.bug = self.bug;
        at.readiness = Readiness::StaleBefore(now);
        at.node = Some(node);
        at.connection.is_open = false;
        let lifetime = at.lifetime;
        self.after(1, WorldEvent::Connect { host, lifetime });
        self.node(host, ClusterEvent::Tick);
    }

    /// Passes an event to a node and executes its actions.
    pub(super) fn node(&mut self, host: usize, event: ClusterEvent) {
        let time = self.time;
        let at = &mut self.hosts[host];
        let now = at.clock.at(time);
        let Some(node) = &mut at.node else { return };
        node.handle(event, now);
        let mut actions = Vec::new();
        while let Some(action) = node.next_action() {
            actions.push(action);
        }
        let deadline = node.next_deadline();
        self.note_unlisted(host);
        for action in actions {
            self.act(host, action);
        }
        let at = &mut self.hosts[host];
        if let Some(deadline) = deadline {
            let due = at.clock.when(deadline).max(time + 1);
            if at.tick_at.is_none_or(|tick_at| due < tick_at) {
                at.tick_at = Some(due);
                let lifetime = at.lifetime;
                self.after(due - time, WorldEvent::Tick { host, lifetime });
            }
        }
    }

    pub(super) fn act(&mut self, host: usize, action: ClusterAction) {
        let lifetime = self.hosts[host].lifetime;
        if !matches!(
            action,
            ClusterAction::Log(_) | ClusterAction::Send { .. } | ClusterAction::StorePosition { .. }
        ) {
            self.trace(|| format!("host {host}: {action:?}"));
        }
        match action {
            ClusterAction::Send { command, what } => self.send(host, command, what),
            ClusterAction::Reconnect(_) => self.reconnect(host),
            ClusterAction::Apply { batch, purges } => {
                let mut keys = Vec::new();
                for purge in purges {
                    if purge.body.is_empty() {
                        keys.extend(0..PAGES);
                        continue;
                    }
                    let number = purge.body.first_chunk().copied().map(u32::from_le_bytes);
                    match number.and_then(|number| self.purges.get(number as usize)) {
                        Some(known) if purge.zone == "pages" => keys.push(known.key),
                        _ => self.fail(&format!("host {host} applied a purge that no client requested")),
                    }
                }
                let delay = self.random.u64(1..20);
                self.after(delay, WorldEvent::Effect { host, lifetime, batch, keys });
            }
            ClusterAction::ExpireEverything { batch, .. } => {
                let delay = self.random.u64(1..50);
                self.after(delay, WorldEvent::Effect { host, lifetime, batch, keys: Vec::new() });
            }
            ClusterAction::SetReadiness(readiness) => {
                let at = &mut self.hosts[host];
                // All pages become stale while their age is limited.
                if readiness != Readiness::Serving {
                    at.gate.note_purge(None);
                }
                at.readiness = readiness;
            }
            ClusterAction::SetPageRule { rule, passed } => self.hosts[host].gate.set_rule(rule, &passed),
            ClusterAction::Answer { ticket, answer } => self.answer(ticket, &answer),
            ClusterAction::StorePosition { number, contents } => {
                let delay = self.random.u64(1..200);
                self.after(delay, WorldEvent::Stored { host, lifetime, number, contents });
            }
            ClusterAction::Log(message) => self.trace(|| format!("host {host}: {message}")),
            ClusterAction::Stopped => self.after(0, WorldEvent::FaultEnds(FaultEnd::Stopped(host, lifetime))),
        }
    }

    pub(super) fn effect(&mut self, host: usize, lifetime: u32, batch: BatchNumber, keys: Vec<PageKey>) {
        if !self.runs(host, lifetime) {
            return;
        }
        let at = &mut self.hosts[host];
        let now = at.clock.at(self.time);
        if keys.is_empty() {
            at.gate.note_purge(None);
            at.cache.expire(now);
        }
        for &key in &keys {
            at.gate.note_purge(Some(&[u64::from(key)]));
            at.cache.purge(key, now);
        }
        let delay = self.random.u64(1..100);
        self.after(delay, WorldEvent::Durable { host, lifetime, batch, keys, at: now });
    }

    /// Saves purges that took effect at `at`.
    pub(super) fn durable(
        &mut self,
        host: usize,
        lifetime: u32,
        batch: BatchNumber,
        keys: &[PageKey],
        at: ClockMs,
    ) {
        if !self.runs(host, lifetime) {
            return;
        }
        if self.hosts[host].is_disk_full {
            return self.node(host, ClusterEvent::AppliedNotSaved(batch));
        }
        let disk = &mut self.hosts[host].disk;
        if keys.is_empty() {
            disk.purge(None, lifetime, at);
        }
        for &key in keys {
            disk.purge(Some(key), lifetime, at);
        }
        self.node(host, ClusterEvent::Applied(batch));
    }
}
