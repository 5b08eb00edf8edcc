//! Tests of disk failures during operation: the disk is full, unreadable, read-only, or fails intermittently.

use std::sync::atomic::AtomicBool;

use rustix::io::Errno;

use super::*;
use myriad_disk::testing::Operation;

#[test]
fn soft_purges_note_nothing_for_a_folder_that_cannot_be_used() {
    let folder = Folder::new();
    let path = folder.path().join("a file");
    fs::write(&path, b"").unwrap();
    let fixture = Fixture::open(&path);
    let disk = &fixture.zone.tier().unwrap().disk;
    for id in 0..10 {
        put(&fixture.zone, b"/", id, 10, fixture.now());
        let _purging = fixture.zone.purge(PurgeScope::All, PurgeKind::Soft);
        fixture.settle();
        assert!(fixture.in_memory(b"/"));
        fixture.pool.maintain();
        assert_eq!(disk.take_softened().len(), 0, "{id}");
    }
}

#[test]
fn start_with_unopenable_folder_is_retried() {
    let folder = Folder::new();
    let path = folder.path().join("zone");
    fs::write(&path, b"in the way").unwrap();
    let fixture = Fixture::open(&path);
    let short = fixture.failing(&[Operation::Open], Errno::MFILE);
    fs::remove_file(&path).unwrap();
    for _ in 0..3 {
        fixture.pool.maintain();
    }
    assert!(!fixture.stats().recovered);
    short.store(false, Relaxed);
    fixture.now.fetch_add(5000, Relaxed);
    fixture.recover();
    fixture.put(b"/", 1, 10);
    assert_eq!(
        (fixture.stats().files, fixture.event_count("Failed"), fixture.event_count("Works")),
        (1, 1, 1)
    );
    drop(fixture);
    assert_eq!(Fixture::open(&path).id(b"/"), Some(1));
}

impl Fixture {
    /// Makes operations fail while the returned flag is set.
    fn failing(&self, operations: &'static [Operation], error: Errno) -> Arc<AtomicBool> {
        let on = Arc::new(AtomicBool::new(true));
        let asked = Arc::clone(&on);
        self.zone.tier().unwrap().disk.inject(move |operation, _| {
            (asked.load(Relaxed) && operations.contains(&operation)).then(|| error.into())
        });
        on
    }

    fn event_count(&self, what: &str) -> usize {
        self.events.lock().iter().filter(|event| event.starts_with(what)).count()
    }

    fn no_temporary_files(&self, folder: &Folder) -> bool {
        let left = fs::read_dir(folder.path().join(".tmp")).map_or(0, Iterator::count);
        left == 0 && self.stats().bytes == folder.bytes()
    }
}

#[test]
fn full_disk_is_reported_once_and_used_again_after_space_returns() {
    let folder = Folder::new();
    let fixture = Fixture::open(folder.path());
    fixture.recover();
    fixture.put(b"before", 1, 5000);
    fixture.events.lock().clear();
    let full = fixture.failing(&[Operation::Write], Errno::NOSPC);
    for n in 0..200_u64 {
        fixture.put(&n.to_le_bytes(), n, 5000);
        assert!(fixture.in_memory(&n.to_le_bytes()));
        fixture.now.fetch_add(300, Relaxed);
        fixture.pool.maintain();
    }
    assert_eq!((fixture.stats().dropped, fixture.stats().writes, fixture.stats().files), (200, 1, 1));
    assert!(fixture.no_temporary_files(&folder));
    assert_eq!(fixture.events.lock().len(), 1, "{:?}", fixture.events.lock());
    full.store(false, Relaxed);
    for n in 0..20_u64 {
        fixture.now.fetch_add(2000, Relaxed);
        fixture.put(&n.to_le_bytes(), n, 5000);
    }
    assert_eq!(
        (fixture.stats().files, fixture.event_count("Failed"), fixture.event_count("Works")),
        (21, 1, 1)
    );
    assert_eq!(Fixture::open(folder.path()).id(b"before"), Some(1));
}

#[test]
fn a_disk_that_fails_now_and_then_makes_no_flood_of_lines() {
    let folder = Folder::new();
    let fixture = Fixture::open(folder.path());
    fixture.recover();
    fixture.events.lock().clear();
    let mut number = 0;
    fixture.zone.tier().unwrap().disk.inject(move |operation, _| {
        number += u32::from(operation == Operation::Create);
        (operation == Operation::Create && number % 2 == 0).then(|| Errno::NOSPC.into())
    });
    for n in 0..300_u64 {
        fixture.put(&n.to_le_bytes(), n, 100);
        fixture.now.fetch_add(1100, Relaxed);
    }
    assert_eq!(fixture.stats().writes, 150);
    assert_eq!(
        (fixture.event_count("Failed"), fixture.event_count("Works")),
        (1, 0),
        "one line for as long as it lasts"
    );
}

#[test]
fn disk_full_at_any_step_leaves_no_files() {
    let operations = [Operation::Create, Operation::Write, Operation::Rename];
    for step in 0..12 {
        let folder = Folder::new();
        let fixture = Fixture::open(folder.path());
        fixture.recover();
        let mut number = 0;
        fixture.zone.tier().unwrap().disk.inject(move |operation, _| {
            number += u32::from(operations.contains(&operation));
            (number > step && operation != Operation::Remove).then(|| Errno::NOSPC.into())
        });
        for n in 0..4_u64 {
            fixture.put(&n.to_le_bytes(), n, 600_000);
            assert!(fixture.in_memory(&n.to_le_bytes()));
            fixture.now.fetch_add(2000, Relaxed);
        }
        fixture.pool.maintain();
        assert!(fixture.no_temporary_files(&folder), "step {step}: {:?}", fixture.stats());
        drop(fixture);
        let fixture = Fixture::open(folder.path());
        fixture.recover();
        for n in 0..4_u64 {
            assert!([None, Some(n)].contains(&fixture.id(&n.to_le_bytes())), "step {step}");
        }
        assert_eq!(fixture.stats().quarantined, 0, "step {step}: what is half written has no name");
    }
}

#[test]
fn pages_that_cannot_be_read_come_from_the_origin_and_their_files_go() {
    for (operation, error) in
        [(Operation::Read, Errno::IO), (Operation::Open, Errno::IO), (Operation::Open, Errno::ACCESS)]
    {
        let folder = Folder::new();
        let fixture = Fixture::open(folder.path());
        fixture.recover();
        for n in 0..30_u64 {
            fixture.put(&n.to_le_bytes(), n, 5000);
        }
        fixture.close();
        let fixture = Fixture::open(folder.path());
        let failing = fixture.failing(
            if operation == Operation::Read { &[Operation::Read] } else { &[Operation::Open] },
            error,
        );
        fixture.recover();
        fixture.put(b"in memory", 77, 100);
        for n in 0..30_u64 {
            assert_eq!(fixture.id(&n.to_le_bytes()), None);
            assert_eq!(fixture.id(b"in memory"), Some(77));
        }
        assert_eq!(fixture.event_count("Failed"), 1, "{:?}", fixture.events.lock());
        // An unreadable file is not read again.
        let reads = fixture.stats().unreadable;
        assert_eq!(reads, 30);
        (0..30_u64).for_each(|n| assert_eq!(fixture.id(&n.to_le_bytes()), None));
        assert_eq!(fixture.stats().unreadable, reads);
        failing.store(false, Relaxed);
        fixture.now.fetch_add(20_000, Relaxed);
        for n in 0..30_u64 {
            fixture.put(&n.to_le_bytes(), n + 100, 5000);
        }
        fixture.close();
        let fixture = Fixture::open(folder.path());
        fixture.recover();
        assert!((0..30_u64).all(|n| fixture.id(&n.to_le_bytes()) == Some(n + 100)));
    }
}

#[test]
fn long_body_reaches_readers_despite_disk_failure() {
    let folder = Folder::new();
    let fixture = Fixture::open(folder.path());
    fixture.recover();
    fixture.events.lock().clear();
    let _full = fixture.failing(&[Operation::Write], Errno::NOSPC);
    let len = 3 << 20;
    let writer = fixture.zone.fetch_unshared(KeyRef::new(b"/film"), fixture.now());
    let mut reader = writer.reader();
    let mut body = writer.admit(admission(7, None));
    let mut received = Vec::new();
    for piece in content(7, len).chunks(100_000) {
        body.push(piece.to_vec().into());
        fixture.settle();
        while let Poll::Ready(Some(Ok(more))) = reader.poll_chunk(&mut Context::from_waker(Waker::noop())) {
            received.extend_from_slice(&more);
        }
    }
    body.complete(completion(7, fixture.now(), 9_000_000));
    fixture.settle();
    while let Poll::Ready(Some(Ok(more))) = reader.poll_chunk(&mut Context::from_waker(Waker::noop())) {
        received.extend_from_slice(&more);
    }
    assert!(received == content(7, len));
    assert_eq!(fixture.id(b"/film"), None);
    assert!(fixture.no_temporary_files(&folder) && fixture.event_count("Failed") == 1);
}

#[test]
fn files_that_cannot_be_removed_hold_their_room_and_are_read_no_more() {
    let folder = Folder::new();
    let limits = DiskLimits { max_bytes: 20 * 4096, ..DiskLimits::default() };
    let fixture = Fixture::open_with(folder.path(), LIMITS, limits);
    fixture.recover();
    fixture.put(b"purged", 1, 10);
    for n in 0..10_u64 {
        fixture.put(&n.to_le_bytes(), n, 10);
    }
    let read_only = fixture.failing(&[Operation::Remove], Errno::ROFS);
    fixture.zone.remove(KeyRef::new(b"purged"));
    for n in 10..100_u64 {
        fixture.put(&n.to_le_bytes(), n, 10);
        fixture.now.fetch_add(1100, Relaxed);
        assert!(fixture.stats().bytes <= 20 * 4096 && folder.bytes() <= 20 * 4096, "after {n}");
        assert_eq!(fixture.id(b"purged"), None);
    }
    read_only.store(false, Relaxed);
    for n in 100..130_u64 {
        fixture.now.fetch_add(1100, Relaxed);
        fixture.put(&n.to_le_bytes(), n, 10);
        fixture.pool.maintain();
    }
    assert!(folder.bytes() <= 20 * 4096 && fixture.stats().bytes == folder.bytes());
    assert_eq!(Fixture::open(folder.path()).id(b"purged"), None);
}

/// Metadata of pages as another version of the program writes it, with another `VERSION`.
struct Newer;

impl Metadata for Newer {
    type EncodingMeta = ();
    type ReplacementState = ();
    type StoredForm = Self;
    type MetaView<'a> = &'a Self;

    fn view(&self) -> &Self {
        self
    }

    fn into_stored(self, _texts: &mut Vec<u8>) -> Self {
        self
    }

    fn view_stored<'a>(kept: &'a Self, _texts: &'a [u8]) -> &'a Self {
        kept
    }

    fn weight(_: &Self) -> usize {
        0
    }
}

impl Persist for Newer {
    const VERSION: u16 = <TestPage as Persist>::VERSION + 1;

    fn encode(_: &Self, _: &mut Vec<u8>) {}

    fn decode(_: &[u8]) -> Option<Self> {
        Some(Self)
    }

    fn encode_alternative((): &(), _: &mut Vec<u8>) {}

    fn decode_alternative(_: &[u8]) -> Option<()> {
        Some(())
    }
}

#[test]
fn files_of_another_version_are_quarantined_counted_and_never_served() {
    let folder = Folder::new();
    let fixture = Fixture::open(folder.path());
    fixture.recover();
    for n in 0..5_u64 {
        fixture.put(&n.to_le_bytes(), n, 10);
    }
    fixture.close();
    let zone = Zone::<Newer>::new("pages", LIMITS);
    let pool = DiskPool::without_threads();
    let options = DiskOptions {
        path: folder.path().to_owned(),
        levels: vec![1, 2],
        limits: DiskLimits::default(),
        clock: Arc::new(|| 1_000_000),
        reference: Arc::new(ClockReference::default),
        report: Arc::new(|_| {}),
    };
    zone.open_disk(options, &pool);
    while !zone.disk_stats().unwrap().recovered {
        pool.maintain();
        pool.wait_until_idle(std::time::Duration::ZERO);
    }
    let stats = zone.disk_stats().unwrap();
    assert_eq!((stats.quarantined, stats.files, folder.files().len()), (5, 0, 0));
    assert!((0..5_u64).all(|n| zone.seek(KeyRef::new(&n.to_le_bytes()), plain).is_none()));
}

#[test]
fn quarantined_files_are_bounded_to_latest() {
    let folder = Folder::new();
    let fixture = Fixture::open(folder.path());
    let names: Vec<Vec<u8>> = (0..130_u64).map(|n| n.to_le_bytes().to_vec()).collect();
    let spoil = |names: &[Vec<u8>]| {
        for name in names {
            let path = myriad_disk::index::FileName::of_key(name).path(folder.path(), &[1, 2]);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, b"a file of nginx").unwrap();
        }
    };
    spoil(&names);
    fixture.recover();
    let quarantined_files = || fs::read_dir(folder.path().join(".damaged")).unwrap().count();
    assert_eq!((fixture.stats().quarantined, fixture.stats().files, quarantined_files()), (130, 0, 100));
    assert!(folder.files().is_empty() && names.iter().all(|name| fixture.id(name).is_none()));
    drop(fixture);
    // Files that a former run quarantined count towards the limit, and are not examined again.
    spoil(&names[..1]);
    let fixture = Fixture::open(folder.path());
    fixture.recover();
    assert_eq!((fixture.stats().quarantined, quarantined_files()), (1, 100));
    drop(fixture);
    let small = DiskLimits { max_bytes: 32 * 4096, ..DiskLimits::default() };
    let fixture = Fixture::open_with(folder.path(), LIMITS, small);
    let long = myriad_disk::index::FileName::of_key(b"long").path(folder.path(), &[1, 2]);
    fs::create_dir_all(long.parent().unwrap()).unwrap();
    fs::write(&long, vec![0; 8193]).unwrap();
    fixture.recover();
    assert_eq!(
        (fixture.stats().quarantined, quarantined_files(), long.exists()),
        (1, 100, false),
        "too long to be kept"
    );
}

#[test]
fn a_page_that_varies_takes_the_former_one_along_even_where_it_cannot_be_written() {
    let operations = [Operation::Create, Operation::Write, Operation::Rename];
    for (step, former) in (0..9).flat_map(|step| [(step, b"".as_slice()), (step, b"other")]) {
        let folder = Folder::new();
        let fixture = Fixture::open(folder.path());
        fixture.recover();
        if former.is_empty() {
            fixture.put(b"/v", 1, 500);
        } else {
            fixture.put_variant(b"/v", former, 1, 1);
        }
        let mut number = 0;
        fixture.zone.tier().unwrap().disk.inject(move |operation, _| {
            number += u32::from(operations.contains(&operation));
            (number > step && operation != Operation::Remove).then(|| Errno::NOSPC.into())
        });
        fixture.put_variant(b"/v", b"selector", 1, 2);
        fixture.close();
        let found = Fixture::open(folder.path()).get(b"/v", crate::tests::asking(1));
        let id = found.map(|page| page.meta().id);
        assert!([None, Some(2)].contains(&id), "step {step}: {id:?} came back");
    }
}
