//! Random schedules of operations over both tiers, with restarts and removed files.
//!
//! Checked after every step: a page that is found has exactly the bytes of one writer, for the right key and variant;
//! no page that a purge or a removed file covers is found; memory, disk accounting and the disk itself stay within
//! their limits.

use std::collections::HashMap;

use super::*;
use crate::tests::{asking, selection};

const KEYS: u8 = 6;
const VALUES: u8 = 3;
const MEMORY: usize = 30_000;
const DISK: u64 = 12 * 4096;

struct ModelFetch {
    key: u8,
    value: u8,
    step: u64,
    len: usize,
}

#[derive(Default)]
struct TierEvents {
    memory: u64,
    disk: u64,
    absent: u64,
    purges: u64,
    restarts: u64,
    kills: u64,
    removed: u64,
    evictions: u64,
}

struct Model {
    rng: fastrand::Rng,
    folder: Folder,
    fixture: Fixture,
    step: u64,
    fetches: HashMap<u64, ModelFetch>,
    covered: HashMap<u8, u64>,
    seen: TierEvents,
}

impl Model {
    fn new(seed: u64) -> Self {
        let folder = Folder::new();
        let fixture = cramped(&folder, MEMORY, DISK);
        Self {
            rng: fastrand::Rng::with_seed(seed),
            folder,
            fixture,
            step: 0,
            fetches: HashMap::new(),
            covered: HashMap::new(),
            seen: TierEvents::default(),
        }
    }

    fn step(&mut self) {
        self.step += 1;
        self.fixture.now.fetch_add(self.rng.u64(..3000), Relaxed);
        match self.rng.u8(..100) {
            0..30 => self.store(),
            30..60 => self.get(),
            60..82 => _ = self.fixture.pool.run_one(self.rng.bool()),
            82..90 => self.fixture.pool.maintain(),
            90..94 => self.purge(),
            94..97 => self.remove_file(),
            _ => self.restart(),
        }
        let stats = self.fixture.stats();
        assert!(self.fixture.zone.stats().bytes <= MEMORY);
        if stats.recovered {
            assert!(stats.bytes <= DISK, "{stats:?}");
            // A purge before the recovery may have doomed files whose lengths are unknown.
            let buried = self.fixture.zone.tier().unwrap().disk.doomed() == 0;
            assert!(!buried || self.folder.bytes() <= DISK, "{stats:?}");
        }
    }

    /// Stores a page. Odd keys have variants.
    fn store(&mut self) {
        let (key, value, id) = (self.rng.u8(..KEYS), self.rng.u8(..VALUES), self.step);
        let len = self.rng.usize(8..9000);
        self.fetches.insert(id, ModelFetch { key, value, step: self.step, len });
        let selected = (key % 2 == 1).then(|| selection(b"s", value));
        let now = self.fixture.now();
        let writer = self.fixture.zone.fetch_unshared(KeyRef::new(&page_key(key)), now);
        let mut body = writer.admit(admission(id, selected));
        body.push(content(id, len).into());
        body.complete(completion(id, now, u64::MAX));
    }

    fn get(&mut self) {
        let (key, value) = (self.rng.u8(..KEYS), self.rng.u8(..VALUES));
        let bytes = page_key(key);
        let in_memory =
            self.fixture.zone.get(KeyRef::new(&bytes), asking(value), self.fixture.now()).is_some();
        let Some(object) = self.fixture.get(&bytes, asking(value)) else {
            self.seen.absent += 1;
            return;
        };
        *(if in_memory { &mut self.seen.memory } else { &mut self.seen.disk }) += 1;
        let id = object.meta().id;
        let fetch = &self.fetches[&id];
        assert_eq!(fetch.key, key, "another key's page");
        assert!(key.is_multiple_of(2) || fetch.value == value, "another variant");
        assert!(fetch.step > self.covered.get(&key).copied().unwrap_or(0), "a page that a purge covers");
        assert!(object.body().segments().concat() == content(id, fetch.len), "other bytes");
    }

    fn purge(&mut self) {
        self.seen.purges += 1;
        if self.rng.u8(..5) == 0 {
            // Files that the recovery has not found yet would be ignored only in this process.
            self.fixture.recover();
            self.fixture.zone.clear();
            (0..KEYS).for_each(|key| _ = self.covered.insert(key, self.step));
            return;
        }
        let key = self.rng.u8(..KEYS);
        self.fixture.zone.remove(KeyRef::new(&page_key(key)));
        self.covered.insert(key, self.step);
    }

    /// Removes the file of a key like another program. Pending writes are finished first, because they would correctly
    /// create it again.
    fn remove_file(&mut self) {
        self.fixture.settle();
        let key = self.rng.u8(..KEYS);
        let path = myriad_disk::index::FileName::of_key(&page_key(key)).path(self.folder.path(), &[1, 2]);
        if fs::remove_file(path).is_ok() {
            self.fixture.pool.maintain();
            self.covered.insert(key, self.step);
            self.seen.removed += 1;
        }
    }

    /// Restarts after a regular shutdown, or after the process was killed with pending writes. A kill requires that no
    /// purged file exists, because these purges are not logged.
    fn restart(&mut self) {
        self.seen.evictions += self.fixture.stats().evictions;
        if self.rng.bool() || self.fixture.zone.tier().unwrap().disk.doomed() > 0 {
            self.fixture.settle();
            self.fixture.zone.close_disk(std::time::Duration::ZERO);
            self.seen.restarts += 1;
        } else {
            fs::write(self.folder.path().join(".tmp/1-1"), b"half a page").ok();
            self.seen.kills += 1;
            self.fixture.pool.stop();
        }
        let now = self.fixture.now();
        self.fixture.die();
        self.fixture = cramped(&self.folder, MEMORY, DISK);
        self.fixture.now.store(now, Relaxed);
    }
}

#[test]
fn hundreds_of_schedules_hold_the_invariants_over_both_tiers() {
    let mut total = TierEvents::default();
    for seed in 0..seeds(150) {
        let run = std::panic::catch_unwind(|| {
            let mut model = Model::new(seed);
            (0..150).for_each(|_| model.step());
            model.seen
        });
        match run {
            Ok(seen) => {
                total.memory += seen.memory;
                total.disk += seen.disk;
                total.absent += seen.absent;
                total.purges += seen.purges;
                total.restarts += seen.restarts;
                total.kills += seen.kills;
                total.removed += seen.removed;
                total.evictions += seen.evictions;
            }
            Err(panic) => {
                eprintln!("seed {seed}");
                std::panic::resume_unwind(panic);
            }
        }
    }
    let TierEvents { memory, disk, absent, purges, restarts, kills, removed, evictions } = total;
    for times in [memory, disk, absent, purges, restarts, kills, removed, evictions] {
        assert!(times > 100, "{memory} {disk} {absent} {purges} {restarts} {kills} {removed} {evictions}");
    }
}
