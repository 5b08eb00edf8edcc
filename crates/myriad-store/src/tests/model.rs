//! Random schedules of operations, compared with a model that records the page and the start of the fetch for each
//! writer.
//!
//! Checked after every step: no key has two leaders (no variant, once the selector is known); every byte that is read
//! is the byte of exactly one writer, for the right key and variant; no purged page is found; the memory limit is not
//! exceeded; and each waiter is woken by every event that ends its wait.

mod streams;

use std::collections::HashMap;

use super::*;

const KEYS: u8 = 5;
const VALUES: u8 = 3;
const CAP: usize = 9_000;
const LOCK_AGE: u64 = 50;

/// Writer in the model.
struct ModelWrite {
    key: u8,
    /// Value of the request for which the writer fetches.
    value: u8,
    /// Step at which the fetch began.
    begun: u64,
    /// Step at which the last fetch began in which the origin confirmed the page; 0 if there was none.
    confirmed: u64,
    len: usize,
}

enum Writing {
    Head(FlightWriter<TestPage>),
    Body(BodyWriter<TestPage>, Vec<u8>),
}

struct Flying {
    id: u64,
    writing: Writing,
    started_at: u64,
    /// Set while claims may join: not purged, separate, too long for memory or superseded.
    open: bool,
    /// Set if the selector is unknown, so that the fetch is for the whole key.
    whole_key: bool,
}

struct ModelReader {
    reader: FlightReader<TestPage>,
    key: u8,
    value: u8,
    joined: u64,
    /// Number of the fetch that the request of this reader started.
    own: Option<u64>,
    id: Option<u64>,
    got: Vec<u8>,
    bell: Arc<Bell>,
    /// Number of wake-ups when the wait began.
    waiting: Option<usize>,
}

struct Model {
    rng: fastrand::Rng,
    zone: Zone<TestPage>,
    now: u64,
    step: u64,
    writes: HashMap<u64, ModelWrite>,
    flying: Vec<Flying>,
    reading: Vec<ModelReader>,
    purged: HashMap<u8, u64>,
    /// Steps of the last hard and the last soft purge of each group of pages.
    purged_groups: HashMap<u64, u64>,
    softened: HashMap<u64, u64>,
    next_id: u64,
    seen: StoreEvents,
}

/// Number of occurrences of each relevant event, so that the test fails if the schedules do not contain one.
#[derive(Default, Debug)]
struct StoreEvents {
    hits: u64,
    leads: u64,
    waits: u64,
    passes: u64,
    whole_bodies: u64,
    mismatches: u64,
    oversized: u64,
    purged_flights: u64,
    overtaken: u64,
    superseded: u64,
    refreshes: u64,
    attached: u64,
    evictions: u64,
    expired: u64,
    flights_of_groups: u64,
    labelled: u64,
    softened: u64,
    retired: u64,
}

fn name(key: u8) -> Vec<u8> {
    format!("/page/{key}").into_bytes()
}

/// Returns the variant of a page. Odd keys have variants.
fn selected(key: u8, value: u8) -> Option<Selection> {
    (key % 2 == 1).then(|| selection(b"s", value))
}

/// Returns the step of the last purge of a page's group.
fn last(purges: &HashMap<u64, u64>, id: u64) -> u64 {
    purges.get(&(id % GROUPS)).copied().unwrap_or(0)
}

impl Model {
    fn new(seed: u64) -> Self {
        let limits = ZoneLimits {
            memory_bytes: CAP,
            inactive_ms: 120,
            max_object_bytes: 2500,
            max_variants: 2,
            stream_window_bytes: 800,
            oversized_pass_ms: 30,
        };
        Self {
            rng: fastrand::Rng::with_seed(seed),
            zone: Zone::new("model", limits),
            now: 1000,
            step: 0,
            writes: HashMap::new(),
            flying: Vec::new(),
            reading: Vec::new(),
            purged: HashMap::new(),
            purged_groups: HashMap::new(),
            softened: HashMap::new(),
            next_id: 1,
            seen: StoreEvents::default(),
        }
    }

    fn step(&mut self) {
        self.step += 1;
        self.now += self.rng.u64(..6);
        match self.rng.u8(..100) {
            0..22 => self.claim(),
            22..25 => self.get(),
            25..60 => (0..self.rng.u8(1..8)).for_each(|_| self.write()),
            60..82 => self.read(),
            82..85 => self.hang_up(),
            85..86 => self.purge(),
            86..87 => self.purge_group(),
            87..91 => self.refresh(),
            91..93 => self.fetch_alone(),
            93..98 => self.attach(),
            98 => _ = self.zone.sweep(self.now, self.rng.usize(1..40)),
            _ => self.seen.retired += self.zone.maintain_purges(self.rng.usize(1..40)).len() as u64,
        }
        let stats = self.zone.stats();
        assert!(stats.bytes <= CAP, "{stats:?}");
        self.check_no_lost_wakeup();
    }

    fn request(&mut self) -> (u8, u8, Vec<u8>) {
        let key = self.rng.u8(..KEYS);
        (key, self.rng.u8(..VALUES), name(key))
    }

    fn new_flight(
        &mut self,
        key: u8,
        value: u8,
        writer: FlightWriter<TestPage>,
        open: bool,
        whole_key: bool,
    ) {
        let id = self.next_id;
        self.next_id += 1;
        let longest = if self.rng.u8(..10) == 0 { 4000 } else { 1500 };
        let len = self.rng.usize(8..longest);
        self.writes.insert(id, ModelWrite { key, value, begun: self.step, confirmed: 0, len });
        if self.rng.bool() {
            let reader = writer.reader();
            self.waiter(key, value, reader, Some(id));
        }
        let writing = Writing::Head(writer);
        self.flying.push(Flying { id, writing, started_at: self.now, open, whole_key });
    }

    fn waiter(&mut self, key: u8, value: u8, reader: FlightReader<TestPage>, own: Option<u64>) {
        let (joined, bell) = (self.step, Arc::default());
        let reading =
            ModelReader { reader, key, value, joined, own, id: None, got: Vec::new(), bell, waiting: None };
        self.reading.push(reading);
    }

    /// Asserts that a request may receive this page at this moment.
    fn may_see(&self, id: u64, key: u8, value: u8) {
        let model_write = &self.writes[&id];
        assert_eq!(model_write.key, key, "another key's page");
        assert!(key.is_multiple_of(2) || model_write.value == value, "another variant");
        let purged = self.purged.get(&key).copied().unwrap_or(0);
        assert!(model_write.begun > purged, "a page that a purge covers");
        assert!(model_write.begun > last(&self.purged_groups, id), "a page that a purge covers");
    }

    fn check_object(&self, object: &Object<TestPage>, key: u8, value: u8) {
        let id = object.meta().id;
        self.may_see(id, key, value);
        assert_eq!(object.body().segments().concat(), content(id, self.writes[&id].len));
        if let Some(alternative) = object.alternative(1) {
            assert_eq!(alternative.meta, id, "another generation's encoding");
        }
    }

    fn get(&mut self) {
        let (key, value, bytes) = self.request();
        if let Some(object) = self.zone.get(KeyRef::new(&bytes), asking(value), self.now) {
            self.check_object(&object, key, value);
        }
    }

    /// Returns true if the zone knows a selector for the key, from a stored object or a flight.
    fn selector_known(&self, key: u8) -> bool {
        let stored =
            (0..VALUES).any(|v| self.zone.get(KeyRef::new(&name(key)), asking(v), self.now).is_some());
        let covered = |f: &Flying| self.writes[&f.id].begun <= self.purged.get(&key).copied().unwrap_or(0);
        stored || self.flying.iter().any(|f| self.writes[&f.id].key == key && !f.whole_key && !covered(f))
    }

    fn claim(&mut self) {
        let (key, value, bytes) = self.request();
        let known = self.selector_known(key);
        let now = self.now;
        let options = ClaimOptions { now, lock_age_ms: LOCK_AGE, address: None };
        match self.zone.claim(KeyRef::new(&bytes), asking(value), |o| o.is_fresh(now), options) {
            Claim::Hit(object) => {
                self.seen.hits += 1;
                assert!(object.is_fresh(now));
                let id = object.meta().id;
                let model_write = &self.writes[&id];
                let known_good = model_write.begun.max(model_write.confirmed);
                assert!(known_good > last(&self.softened, id), "a hit on what a soft purge covers");
                self.check_object(&object, key, value);
            }
            Claim::Wait(reader) => {
                self.seen.waits += 1;
                self.waiter(key, value, reader, None);
            }
            Claim::Lead(writer) => {
                self.seen.leads += 1;
                self.only_leader(key, value);
                self.new_flight(key, value, writer, true, !known);
            }
            Claim::Pass => self.seen.passes += 1,
        }
    }

    /// Asserts that an earlier leader for the same variant is older than the lock age.
    fn only_leader(&mut self, key: u8, value: u8) {
        for other in self.flying.iter_mut().filter(|f| f.open) {
            let other_write = &self.writes[&other.id];
            if other_write.key != key || (key % 2 == 1 && !other.whole_key && other_write.value != value) {
                continue;
            }
            assert!(self.now - other.started_at >= LOCK_AGE, "two leaders for key {key}");
            other.open = false;
            self.seen.superseded += 1;
        }
    }

    fn fetch_alone(&mut self) {
        let (key, value, bytes) = self.request();
        let writer = self.zone.fetch_unshared(KeyRef::new(&bytes), self.now);
        self.new_flight(key, value, writer, false, true);
    }

    fn refresh(&mut self) {
        let (key, value, bytes) = self.request();
        let Some(object) = self.zone.get(KeyRef::new(&bytes), asking(value), self.now) else { return };
        object.set_fresh_until(self.now);
        let Some(writer) = self.zone.begin_refresh(&object, self.now, LOCK_AGE, None) else { return };
        self.seen.refreshes += 1;
        // The selector of the object to be refreshed is known.
        self.only_leader(key, value);
        self.new_flight(key, value, writer, true, false);
    }

    fn attach(&mut self) {
        let (_, value, bytes) = self.request();
        let Some(object) = self.zone.get(KeyRef::new(&bytes), asking(value), self.now) else { return };
        let meta = object.meta().id;
        let attached = self.zone.attach(&object, 1, AlternativeEncoding { bytes: vec![0; 200].into(), meta });
        self.seen.attached += u64::from(attached.is_ok());
    }

    fn purge(&mut self) {
        let (key, _, bytes) = self.request();
        let keys = if self.rng.u8(..8) == 0 {
            self.zone.clear();
            0..KEYS
        } else {
            self.zone.remove(KeyRef::new(&bytes));
            key..key + 1
        };
        for key in keys {
            self.purged.insert(key, self.step);
            for flying in self.flying.iter_mut().filter(|f| self.writes[&f.id].key == key) {
                flying.open = false;
                self.seen.purged_flights += 1;
            }
        }
    }

    /// Purges a group of pages: by label, or by a rule that is checked later.
    fn purge_group(&mut self) {
        let group = self.rng.u64(..GROUPS);
        let purge = if self.rng.bool() { PurgeKind::Hard } else { PurgeKind::Soft };
        if self.rng.bool() {
            let there = self.stored_in(group);
            assert_eq!(purge_labels(&self.zone, &[group], purge), there.len(), "the count is exact");
            self.seen.labelled += there.len() as u64;
        } else {
            purge_rule(&self.zone, "group", purge, group as u8);
        }
        let step = self.step;
        let flying = self
            .flying
            .iter_mut()
            .filter(|f| f.id % GROUPS == group || matches!(f.writing, Writing::Head(_)));
        for flying in flying {
            flying.open = false;
            self.seen.flights_of_groups += 1;
        }
        match purge {
            PurgeKind::Hard => self.purged_groups.insert(group, step),
            PurgeKind::Soft => self.softened.insert(group, step),
        };
    }

    /// Returns the pages of a group that look-ups find.
    fn stored_in(&self, group: u64) -> std::collections::HashSet<u64> {
        let all = (0..KEYS).flat_map(|key| (0..VALUES).map(move |value| (key, value)));
        let found = all.filter_map(|(key, value)| {
            self.zone.get(KeyRef::new(&name(key)), asking(value), self.now).map(|page| page.meta().id)
        });
        found.filter(|id| id % GROUPS == group).collect()
    }

    /// Polls the waiters that were not woken, and asserts that they are still pending.
    fn check_no_lost_wakeup(&mut self) {
        for reading in &mut self.reading {
            let Some(rings) = reading.waiting else { continue };
            if reading.bell.rung() > rings {
                continue;
            }
            let waker = Waker::from(Arc::clone(&reading.bell));
            let cx = &mut Context::from_waker(&waker);
            let asleep = match reading.id {
                None => reading.reader.poll_head(cx, asking(reading.value)).is_pending(),
                Some(_) => reading.reader.poll_chunk(cx).is_pending(),
            };
            assert!(asleep, "a reader was not woken");
        }
    }

    /// Drops all writers, and asserts that every reader ends and every byte is released.
    fn finish(&mut self) {
        self.flying.clear();
        self.check_no_lost_wakeup();
        while let Some(reading) = self.reading.pop() {
            let others = self.reading.len();
            self.read_on(reading);
            assert!(self.reading[others..].iter().all(|r| r.waiting.is_none()), "stranded");
        }
        let stats = self.zone.stats();
        (self.seen.evictions, self.seen.expired) = (stats.evictions, stats.expired);
        assert_eq!(stats.flights, 0);
        self.zone.maintain_purges(usize::MAX);
        self.zone.maintain_purges(usize::MAX);
        assert_eq!(self.zone.live_purges(), 0, "a purge outlives what it was for");
        self.zone.clear();
        let empty = Zone::<TestPage>::new("empty", self.zone.limits()).stats().bytes;
        assert_eq!((self.zone.stats().bytes, self.zone.stats().objects), (empty, 0));
    }
}

#[test]
fn thousands_of_schedules_hold_the_invariants() {
    let mut all: Vec<StoreEvents> = Vec::new();
    for seed in 0..2000 {
        let run = std::panic::catch_unwind(|| {
            let mut model = Model::new(seed);
            (0..250).for_each(|_| model.step());
            model.finish();
            model.seen
        });
        match run {
            Ok(seen) => all.push(seen),
            Err(panic) => {
                eprintln!("seed {seed}");
                std::panic::resume_unwind(panic);
            }
        }
    }
    let total = |what: fn(&StoreEvents) -> u64| all.iter().map(what).sum::<u64>();
    let reached = [
        ("hits", total(|s| s.hits)),
        ("leads", total(|s| s.leads)),
        ("waits", total(|s| s.waits)),
        ("passes", total(|s| s.passes)),
        ("whole bodies", total(|s| s.whole_bodies)),
        ("mismatches", total(|s| s.mismatches)),
        ("oversized", total(|s| s.oversized)),
        ("purged flights", total(|s| s.purged_flights)),
        ("overtaken", total(|s| s.overtaken)),
        ("superseded", total(|s| s.superseded)),
        ("refreshes", total(|s| s.refreshes)),
        ("attached", total(|s| s.attached)),
        ("evictions", total(|s| s.evictions)),
        ("expired", total(|s| s.expired)),
        ("flights of purged groups", total(|s| s.flights_of_groups)),
        ("labelled", total(|s| s.labelled)),
        ("softened", total(|s| s.softened)),
        ("retired", total(|s| s.retired)),
    ];
    for (what, times) in reached {
        assert!(times > 100, "{what} were reached only {times} times");
    }
}
