//! Tests of zones with a disk tier. They run the work of the disk tier explicitly, in a determined order.

mod disk_errors;
mod faults;
mod files;
mod inspect;
mod large_bodies;
mod lease;
mod limits;
mod model;
mod outdated_files;
mod purge_log;
mod purge_model;
mod purges;
mod recovery;
mod removal;

use std::fs;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::task::{Context, Poll, Waker};

use myriad_disk::testing::TempFolder as Folder;
use parking_lot::Mutex;

use crate::tests::{TestPage, admission, completion, content, plain, put, tagged};
use crate::*;

/// Zone with a disk tier whose work the test runs explicitly.
struct Fixture {
    zone: Zone<TestPage>,
    pool: DiskPool,
    now: Arc<AtomicU64>,
    reference: Arc<Mutex<ClockReference>>,
    events: Arc<Mutex<Vec<String>>>,
}

const LIMITS: ZoneLimits = ZoneLimits {
    memory_bytes: 8 << 20,
    inactive_ms: 600_000,
    max_object_bytes: 1 << 20,
    max_variants: 16,
    stream_window_bytes: 256 << 10,
    oversized_pass_ms: 10_000,
};

impl Fixture {
    fn open(folder: &Path) -> Self {
        Self::open_with(folder, LIMITS, DiskLimits::default())
    }

    fn open_with(folder: &Path, limits: ZoneLimits, disk: DiskLimits) -> Self {
        let zone = Zone::new("pages", limits);
        let pool = DiskPool::without_threads();
        let now = Arc::new(AtomicU64::new(1_000_000));
        let events = Arc::<Mutex<Vec<String>>>::default();
        let (clock, log) = (Arc::clone(&now), Arc::clone(&events));
        let reference = Arc::<Mutex<ClockReference>>::default();
        let reference_copy = Arc::clone(&reference);
        let options = DiskOptions {
            path: folder.to_owned(),
            levels: vec![1, 2],
            limits: disk,
            clock: Arc::new(move || clock.load(Relaxed)),
            reference: Arc::new(move || *reference_copy.lock()),
            report: Arc::new(move |event| log.lock().push(format!("{event:?}"))),
        };
        zone.open_disk(options, &pool);
        Self { zone, pool, now, reference, events }
    }

    fn now(&self) -> u64 {
        self.now.load(Relaxed)
    }

    fn settle(&self) {
        self.pool.wait_until_idle(std::time::Duration::ZERO);
    }

    /// Runs maintenance until the recovery has found all files.
    fn recover(&self) {
        for _ in 0..1000 {
            self.pool.maintain();
            self.settle();
            if self.stats().recovered {
                return;
            }
        }
        panic!("recovery has no end");
    }

    fn stats(&self) -> DiskStats {
        self.zone.disk_stats().unwrap()
    }

    fn put(&self, key: &[u8], id: u64, len: usize) -> Object<TestPage> {
        let object = put(&self.zone, key, id, len, self.now());
        self.settle();
        object
    }

    /// Stores a variant of a key: the response to a request with `value`.
    fn put_variant(&self, key: &[u8], selector: &[u8], value: u8, id: u64) {
        let selection = crate::tests::selection(selector, value);
        let mut body =
            self.zone.fetch_unshared(KeyRef::new(key), self.now()).admit(admission(id, Some(selection)));
        body.push(content(id, 500).into());
        assert!(matches!(body.complete(completion(id, self.now(), 9_000_000)), Completed::Stored(_)));
        self.settle();
    }

    /// Looks a page up in memory, then on disk, like a request.
    fn get(&self, key: &[u8], variant: impl Fn(&[u8], &mut Vec<u8>)) -> Option<Object<TestPage>> {
        let key = KeyRef::new(key);
        let mut asked = None;
        loop {
            if let Some(object) = self.zone.get(key, &variant, self.now()) {
                return Some(object);
            }
            let sought = self.zone.seek(key, &variant).filter(|sought| asked != Some(*sought))?;
            asked = Some(sought);
            let mut reader = self.zone.load(key, sought, self.now())?;
            self.settle();
            let polled = reader.poll_end(&mut Context::from_waker(Waker::noop()), plain);
            assert!(polled.is_ready(), "a load without end");
        }
    }

    fn id(&self, key: &[u8]) -> Option<u64> {
        let object = self.get(key, plain)?;
        if object.body().stored().is_none() {
            let len = object.body().len() as usize;
            assert_eq!(object.body().segments().concat(), content(object.meta().id, len), "another's bytes");
        }
        Some(object.meta().id)
    }

    fn in_memory(&self, key: &[u8]) -> bool {
        self.zone.get(KeyRef::new(key), plain, self.now()).is_some()
    }

    /// Requests a purge, waits for its result, and returns the number of covered pages.
    #[track_caller]
    fn purge(&self, covered: PurgeScope<'_>, purge: PurgeKind) -> PurgeCount {
        let purging = self.zone.purge(covered, purge);
        self.settle();
        crate::tests::completed_purge(purging).count
    }

    /// Runs maintenance until all pages have been checked against purge rules, and returns the completed purges.
    fn tend(&self) -> Vec<FinishedPurge> {
        let mut reports = self.zone.maintain_purges(usize::MAX);
        for _ in 0..20 {
            self.pool.maintain();
            self.settle();
            reports.extend(self.zone.maintain_purges(usize::MAX));
        }
        reports
    }

    /// Runs maintenance until no purge is active any more.
    fn forget_purges(&self) {
        for _ in 0..5 {
            self.now.fetch_add(60_000, Relaxed);
            self.tend();
        }
        assert_eq!(self.zone.live_purges(), 0, "a purge outlives what it was for");
    }

    /// Simulates the exit of the process, after which others may write to the folder.
    fn die(&self) {
        self.zone.tier().unwrap().disk.release_lease();
    }

    fn close(self) {
        self.zone.close_disk(std::time::Duration::ZERO);
    }
}

/// Returns the key of a page in the models.
fn page_key(key: u8) -> Vec<u8> {
    format!("/page/{key}").into_bytes()
}

/// Returns a small zone for the models, whose recovery finds only few files per step.
fn cramped(folder: &Folder, memory_bytes: usize, max_bytes: u64) -> Fixture {
    let limits = ZoneLimits { memory_bytes, max_object_bytes: 1 << 20, ..LIMITS };
    let loader = WorkPace { files: 3, sleep_ms: 0, threshold_ms: 200 };
    Fixture::open_with(folder.path(), limits, DiskLimits { max_bytes, loader, ..DiskLimits::default() })
}

/// Returns the number of random schedules for a model, which the environment variable `MYRIAD_MODEL_SEEDS` overrides.
fn seeds(usual: u64) -> u64 {
    std::env::var("MYRIAD_MODEL_SEEDS").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(usual)
}

fn ready<T>(polled: Poll<T>) -> T {
    match polled {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("not ready"),
    }
}
