//! Traffic counts of a server or location.

use std::collections::BTreeMap;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use myriad_store::page::Counter;

use super::codes::CodeCounts;
use super::tls::{TlsCounts, TlsEnd, TlsSums};

/// Kind of a traffic zone. Names are unique within a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ZoneKind {
    /// Server, by `status_zone` or, without it, by its first `server_name`.
    Server,
    /// Location with a `status_zone`, by the name of the zone.
    Location,
    /// Server of `stream` with a `status_zone`; its sessions count as requests.
    Stream,
}

/// Traffic counts with a name, which several servers or locations may share. They survive reloads.
#[derive(Debug)]
pub struct TrafficZone {
    kind: ZoneKind,
    name: Box<str>,
    is_named: AtomicBool,
    /// Counts of each worker, by worker number.
    lanes: Box<[Lane]>,
    /// TLS handshakes by worker number; unset before the first.
    tls: OnceLock<Box<[TlsCounts]>>,
}

/// Counts of one worker in a traffic zone, aligned so that no two workers write to the same cache line.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Lane {
    begun: Counter,
    over: Counter,
    discarded: Counter,
    received: Counter,
    sent: Counter,
    codes: CodeCounts,
}

impl TrafficZone {
    pub(super) fn new(kind: ZoneKind, name: &str, workers: usize) -> Self {
        Self {
            kind,
            name: name.into(),
            is_named: AtomicBool::new(false),
            lanes: (0..workers).map(|_| Lane::default()).collect(),
            tls: OnceLock::new(),
        }
    }

    /// Returns the kind of the zone: server, location, or `stream` server.
    pub fn kind(&self) -> ZoneKind {
        self.kind
    }

    /// Returns the name of the zone.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Records that the name comes from a `status_zone`.
    pub(super) fn mark_named(&self) {
        self.is_named.store(true, Relaxed);
    }

    /// Counts the start of a request that worker `worker` processes. Must be called only on the thread of that worker.
    pub fn begin(&self, worker: usize) {
        if let Some(lane) = self.lanes.get(worker) {
            lane.begun.add(1);
        }
    }

    /// Counts a finished request: the status of its response (0 if none was sent), and the numbers of bytes received
    /// and sent. Must be called only on the thread of worker `worker`.
    pub fn end(&self, worker: usize, status: u16, received: u64, sent: u64) {
        let Some(lane) = self.lanes.get(worker) else { return };
        lane.over.add(1);
        lane.received.add(received);
        lane.sent.add(sent);
        if status == 0 {
            lane.discarded.add(1);
        } else {
            lane.codes.add(status);
        }
    }

    /// Counts a finished TLS handshake, or a client certificate that failed verification. Must be called only on the
    /// thread of worker `worker`.
    pub fn count_handshake(&self, worker: usize, end: TlsEnd) {
        let lanes = self.tls.get_or_init(|| self.lanes.iter().map(|_| TlsCounts::default()).collect());
        if let Some(lane) = lanes.get(worker) {
            lane.add(end);
        }
    }

    /// Returns the sums over all workers. Finished requests are read before started requests, so that their difference
    /// is not negative (except for locations, for which starts are not counted).
    pub fn sums(&self) -> ZoneSums {
        let sum = |of: fn(&Lane) -> &Counter| -> u64 { self.lanes.iter().map(|lane| of(lane).get()).sum() };
        let over = sum(|lane| &lane.over);
        let begun = sum(|lane| &lane.begun);
        let mut statuses = BTreeMap::new();
        self.lanes.iter().for_each(|lane| lane.codes.read(&mut statuses));
        ZoneSums {
            name: self.name.to_string(),
            is_named: self.is_named.load(Relaxed),
            requests: begun.max(over),
            processing: begun.saturating_sub(over),
            statuses: statuses.into_iter().collect(),
            discarded: sum(|lane| &lane.discarded),
            received: sum(|lane| &lane.received),
            sent: sum(|lane| &lane.sent),
            tls: self.tls.get().map(TlsSums::of),
        }
    }
}

/// Counts of a traffic zone at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ZoneSums {
    /// Name of the zone.
    pub name: String,
    /// True if the name comes from a `status_zone`; false if it is the first `server_name` of a server, or `_` for a
    /// server without names.
    pub is_named: bool,
    /// Number of requests; for a location, only of finished requests.
    pub requests: u64,
    /// Number of requests in progress; always 0 for locations.
    pub processing: u64,
    /// Number of responses by status, sorted by status.
    pub statuses: Vec<(u16, u64)>,
    /// Number of finished requests to which no response was sent.
    pub discarded: u64,
    /// Number of bytes received with finished requests.
    pub received: u64,
    /// Number of bytes sent to clients for finished requests.
    pub sent: u64,
    /// Counts of TLS handshakes; `None` if none was counted.
    pub tls: Option<TlsSums>,
}

impl ZoneSums {
    /// Returns the number of responses by the first digit of their status, 1 to 5.
    pub fn classes(&self) -> [u64; 5] {
        classes(&self.statuses)
    }

    /// Returns the number of responses.
    pub fn responses(&self) -> u64 {
        self.statuses.iter().map(|(_, count)| count).sum()
    }
}

/// Returns the number of responses by the first digit of their status, 1 to 5; other statuses are not counted.
pub fn classes(statuses: &[(u16, u64)]) -> [u64; 5] {
    let mut classes = [0; 5];
    for (status, count) in statuses {
        if let Some(class) = classes.get_mut(usize::from(status / 100).wrapping_sub(1)) {
            *class += count;
        }
    }
    classes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_under_way_then_answered_or_discarded() {
        let zone = TrafficZone::new(ZoneKind::Server, "a", 2);
        (0..5).for_each(|_| zone.begin(0));
        zone.begin(1);
        zone.end(0, 200, 100, 1000);
        zone.end(0, 304, 100, 200);
        zone.end(1, 200, 1, 2);
        zone.end(0, 0, 10, 0);
        zone.end(7, 200, 1, 1);
        let sums = zone.sums();
        assert_eq!((sums.requests, sums.processing, sums.responses(), sums.discarded), (6, 2, 3, 1));
        assert_eq!(
            (sums.received, sums.sent, sums.statuses.as_slice()),
            (211, 1202, &[(200, 2), (304, 1)][..])
        );
        assert_eq!((sums.classes(), sums.tls), ([0, 2, 1, 0, 0], None));
    }

    #[test]
    fn zone_takes_a_line_of_memory_of_each_worker() {
        assert_eq!(size_of::<Lane>(), 128);
    }
}
