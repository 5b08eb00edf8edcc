//! A disk that fails in the middle of things: full, unreadable, read-only, now and then.

use std::sync::atomic::AtomicBool;

use rustix::io::Errno;

use super::*;
use crate::disk::faults::Operation;

#[test]
fn soft_purges_note_nothing_for_a_folder_that_cannot_be_used() {
    let folder = Folder::new();
    let path = folder.path().join("a file");
    fs::write(&path, b"").unwrap();
    let shop = Shop::open(&path);
    let memory = shop.zone.disk().unwrap().shelf.memory.upgrade().unwrap();
    for id in 0..10 {
        put(&shop.zone, b"/", id, 10, shop.now());
        let _purging = shop.zone.purge(Covered::All, Purge::Soft);
        shop.settle();
        assert!(shop.in_memory(b"/"));
        shop.pool.tend();
        assert_eq!(memory.take_softened().len(), 0, "{id}");
    }
}

#[test]
fn a_start_whose_folder_cannot_be_opened_is_tried_again() {
    let folder = Folder::new();
    let path = folder.path().join("zone");
    fs::write(&path, b"in the way").unwrap();
    let shop = Shop::open(&path);
    let short = shop.failing(&[Operation::Open], Errno::MFILE);
    fs::remove_file(&path).unwrap();
    for _ in 0..3 {
        shop.pool.tend();
    }
    assert!(!shop.stats().recovered);
    short.store(false, Relaxed);
    shop.now.fetch_add(5000, Relaxed);
    shop.recover();
    shop.put(b"/", 1, 10);
    assert_eq!((shop.stats().files, shop.told("Failed"), shop.told("Works")), (1, 1, 1));
    drop(shop);
    assert_eq!(Shop::open(&path).id(b"/"), Some(1));
}

impl Shop {
    /// Has operations fail while the switch that is returned is on.
    fn failing(&self, operations: &'static [Operation], error: Errno) -> Arc<AtomicBool> {
        let on = Arc::new(AtomicBool::new(true));
        let asked = Arc::clone(&on);
        self.zone.disk().unwrap().shelf.files.faults.inject(move |operation, _| {
            (asked.load(Relaxed) && operations.contains(&operation)).then(|| error.into())
        });
        on
    }

    fn told(&self, what: &str) -> usize {
        self.events.lock().iter().filter(|event| event.starts_with(what)).count()
    }

    fn no_temporary_files(&self, folder: &Folder) -> bool {
        let left = fs::read_dir(folder.path().join(".tmp")).map_or(0, Iterator::count);
        left == 0 && self.stats().bytes == folder.bytes()
    }
}

#[test]
fn a_full_disk_is_told_of_once_and_used_again_when_there_is_room() {
    let folder = Folder::new();
    let shop = Shop::open(folder.path());
    shop.recover();
    shop.put(b"before", 1, 5000);
    shop.events.lock().clear();
    let full = shop.failing(&[Operation::Write], Errno::NOSPC);
    for n in 0..200_u64 {
        shop.put(&n.to_le_bytes(), n, 5000);
        assert!(shop.in_memory(&n.to_le_bytes()));
        shop.now.fetch_add(300, Relaxed);
        shop.pool.tend();
    }
    assert_eq!((shop.stats().dropped, shop.stats().writes, shop.stats().files), (200, 1, 1));
    assert!(shop.no_temporary_files(&folder));
    assert_eq!(shop.events.lock().len(), 1, "{:?}", shop.events.lock());
    full.store(false, Relaxed);
    for n in 0..20_u64 {
        shop.now.fetch_add(2000, Relaxed);
        shop.put(&n.to_le_bytes(), n, 5000);
    }
    assert_eq!((shop.stats().files, shop.told("Failed"), shop.told("Works")), (21, 1, 1));
    assert_eq!(Shop::open(folder.path()).id(b"before"), Some(1));
}

#[test]
fn a_disk_that_fails_now_and_then_makes_no_flood_of_lines() {
    let folder = Folder::new();
    let shop = Shop::open(folder.path());
    shop.recover();
    shop.events.lock().clear();
    let mut number = 0;
    shop.zone.disk().unwrap().shelf.files.faults.inject(move |operation, _| {
        number += u32::from(operation == Operation::Create);
        (operation == Operation::Create && number % 2 == 0).then(|| Errno::NOSPC.into())
    });
    for n in 0..300_u64 {
        shop.put(&n.to_le_bytes(), n, 100);
        shop.now.fetch_add(1100, Relaxed);
    }
    assert_eq!(shop.stats().writes, 150);
    assert_eq!((shop.told("Failed"), shop.told("Works")), (1, 0), "one line for as long as it lasts");
}

#[test]
fn room_that_is_gone_halfway_leaves_nothing_behind_wherever_it_is() {
    let operations = [Operation::Create, Operation::Write, Operation::Rename];
    for step in 0..12 {
        let folder = Folder::new();
        let shop = Shop::open(folder.path());
        shop.recover();
        let mut number = 0;
        shop.zone.disk().unwrap().shelf.files.faults.inject(move |operation, _| {
            number += u32::from(operations.contains(&operation));
            (number > step && operation != Operation::Remove).then(|| Errno::NOSPC.into())
        });
        for n in 0..4_u64 {
            shop.put(&n.to_le_bytes(), n, 600_000);
            assert!(shop.in_memory(&n.to_le_bytes()));
            shop.now.fetch_add(2000, Relaxed);
        }
        shop.pool.tend();
        assert!(shop.no_temporary_files(&folder), "step {step}: {:?}", shop.stats());
        drop(shop);
        let shop = Shop::open(folder.path());
        shop.recover();
        for n in 0..4_u64 {
            assert!([None, Some(n)].contains(&shop.id(&n.to_le_bytes())), "step {step}");
        }
        assert_eq!(shop.stats().set_aside, 0, "step {step}: what is half written has no name");
    }
}

#[test]
fn pages_that_cannot_be_read_come_from_the_origin_and_their_files_go() {
    for (operation, error) in
        [(Operation::Read, Errno::IO), (Operation::Open, Errno::IO), (Operation::Open, Errno::ACCESS)]
    {
        let folder = Folder::new();
        let shop = Shop::open(folder.path());
        shop.recover();
        for n in 0..30_u64 {
            shop.put(&n.to_le_bytes(), n, 5000);
        }
        shop.close();
        let shop = Shop::open(folder.path());
        let failing = shop.failing(
            if operation == Operation::Read { &[Operation::Read] } else { &[Operation::Open] },
            error,
        );
        shop.recover();
        shop.put(b"in memory", 77, 100);
        for n in 0..30_u64 {
            assert_eq!(shop.id(&n.to_le_bytes()), None);
            assert_eq!(shop.id(b"in memory"), Some(77));
        }
        assert_eq!(shop.told("Failed"), 1, "{:?}", shop.events.lock());
        // What cannot be read is asked for no more.
        let reads = shop.stats().unreadable;
        assert_eq!(reads, 30);
        (0..30_u64).for_each(|n| assert_eq!(shop.id(&n.to_le_bytes()), None));
        assert_eq!(shop.stats().unreadable, reads);
        failing.store(false, Relaxed);
        shop.now.fetch_add(20_000, Relaxed);
        for n in 0..30_u64 {
            shop.put(&n.to_le_bytes(), n + 100, 5000);
        }
        shop.close();
        let shop = Shop::open(folder.path());
        shop.recover();
        assert!((0..30_u64).all(|n| shop.id(&n.to_le_bytes()) == Some(n + 100)));
    }
}

#[test]
fn a_long_body_whose_disk_fails_under_it_still_reaches_its_readers() {
    let folder = Folder::new();
    let shop = Shop::open(folder.path());
    shop.recover();
    shop.events.lock().clear();
    let _full = shop.failing(&[Operation::Write], Errno::NOSPC);
    let len = 3 << 20;
    let writer = shop.zone.fetch_alone(KeyRef::new(b"/film"), shop.now());
    let mut reader = writer.reader();
    let mut body = writer.admit(admission(7, None));
    let mut received = Vec::new();
    for piece in content(7, len).chunks(100_000) {
        body.push(piece.to_vec().into());
        shop.settle();
        while let Poll::Ready(Some(Ok(more))) = reader.poll_chunk(&mut Context::from_waker(Waker::noop())) {
            received.extend_from_slice(&more);
        }
    }
    body.complete(completion(7, shop.now(), 9_000_000));
    shop.settle();
    while let Poll::Ready(Some(Ok(more))) = reader.poll_chunk(&mut Context::from_waker(Waker::noop())) {
        received.extend_from_slice(&more);
    }
    assert!(received == content(7, len));
    assert_eq!(shop.id(b"/film"), None);
    assert!(shop.no_temporary_files(&folder) && shop.told("Failed") == 1);
}

#[test]
fn files_that_cannot_be_removed_hold_their_room_and_are_read_no_more() {
    let folder = Folder::new();
    let limits = DiskLimits { max_bytes: 20 * 4096, ..DiskLimits::default() };
    let shop = Shop::open_with(folder.path(), LIMITS, limits);
    shop.recover();
    shop.put(b"purged", 1, 10);
    for n in 0..10_u64 {
        shop.put(&n.to_le_bytes(), n, 10);
    }
    let read_only = shop.failing(&[Operation::Remove], Errno::ROFS);
    shop.zone.remove(KeyRef::new(b"purged"));
    for n in 10..100_u64 {
        shop.put(&n.to_le_bytes(), n, 10);
        shop.now.fetch_add(1100, Relaxed);
        assert!(shop.stats().bytes <= 20 * 4096 && folder.bytes() <= 20 * 4096, "after {n}");
        assert_eq!(shop.id(b"purged"), None);
    }
    read_only.store(false, Relaxed);
    for n in 100..130_u64 {
        shop.now.fetch_add(1100, Relaxed);
        shop.put(&n.to_le_bytes(), n, 10);
        shop.pool.tend();
    }
    assert!(folder.bytes() <= 20 * 4096 && shop.stats().bytes == folder.bytes());
    assert_eq!(Shop::open(folder.path()).id(b"purged"), None);
}

/// The same pages as another build would keep them.
struct Newer;

impl Metadata for Newer {
    type Alternative = ();
    type Kept = Self;
    type View<'a> = &'a Self;

    fn view(&self) -> &Self {
        self
    }

    fn keep(self, _texts: &mut Vec<u8>) -> Self {
        self
    }

    fn view_kept<'a>(kept: &'a Self, _texts: &'a [u8]) -> &'a Self {
        kept
    }

    fn weight(_: &Self) -> usize {
        0
    }
}

impl Persist for Newer {
    const VERSION: u16 = <Page as Persist>::VERSION + 1;

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
fn files_of_another_version_are_set_aside_counted_and_never_served() {
    let folder = Folder::new();
    let shop = Shop::open(folder.path());
    shop.recover();
    for n in 0..5_u64 {
        shop.put(&n.to_le_bytes(), n, 10);
    }
    shop.close();
    let zone = Zone::<Newer>::new("pages", LIMITS);
    let pool = DiskPool::by_hand();
    let options = DiskOptions {
        path: folder.path().to_owned(),
        levels: vec![1, 2],
        limits: DiskLimits::default(),
        clock: Arc::new(|| 1_000_000),
        report: Arc::new(|_| {}),
    };
    zone.open_disk(options, &pool);
    while !zone.disk_stats().unwrap().recovered {
        pool.tend();
        pool.settle(std::time::Duration::ZERO);
    }
    let stats = zone.disk_stats().unwrap();
    assert_eq!((stats.set_aside, stats.files, folder.files().len()), (5, 0, 0));
    assert!((0..5_u64).all(|n| zone.seek(KeyRef::new(&n.to_le_bytes()), plain).is_none()));
}

#[test]
fn the_last_of_what_is_set_aside_is_kept_within_bounds() {
    let folder = Folder::new();
    let shop = Shop::open(folder.path());
    let names: Vec<Vec<u8>> = (0..130_u64).map(|n| n.to_le_bytes().to_vec()).collect();
    let spoil = |names: &[Vec<u8>]| {
        for name in names {
            let path = crate::disk::Name::of_key(name).path(folder.path(), &[1, 2]);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, b"a file of nginx").unwrap();
        }
    };
    spoil(&names);
    shop.recover();
    let kept = || fs::read_dir(folder.path().join(".damaged")).unwrap().count();
    assert_eq!((shop.stats().set_aside, shop.stats().files, kept()), (130, 0, 100));
    assert!(folder.files().is_empty() && names.iter().all(|name| shop.id(name).is_none()));
    drop(shop);
    // What a former run kept counts, and nothing of it is looked at again.
    spoil(&names[..1]);
    let shop = Shop::open(folder.path());
    shop.recover();
    assert_eq!((shop.stats().set_aside, kept()), (1, 100));
    drop(shop);
    let small = DiskLimits { max_bytes: 32 * 4096, ..DiskLimits::default() };
    let shop = Shop::open_with(folder.path(), LIMITS, small);
    let long = crate::disk::Name::of_key(b"long").path(folder.path(), &[1, 2]);
    fs::create_dir_all(long.parent().unwrap()).unwrap();
    fs::write(&long, vec![0; 8193]).unwrap();
    shop.recover();
    assert_eq!((shop.stats().set_aside, kept(), long.exists()), (1, 100, false), "too long to be kept");
}

#[test]
fn a_page_that_varies_takes_the_former_one_along_even_where_it_cannot_be_written() {
    let operations = [Operation::Create, Operation::Write, Operation::Rename];
    for (step, former) in (0..9).flat_map(|step| [(step, b"".as_slice()), (step, b"other")]) {
        let folder = Folder::new();
        let shop = Shop::open(folder.path());
        shop.recover();
        if former.is_empty() {
            shop.put(b"/v", 1, 500);
        } else {
            shop.put_variant(b"/v", former, 1, 1);
        }
        let mut number = 0;
        shop.zone.disk().unwrap().shelf.files.faults.inject(move |operation, _| {
            number += u32::from(operations.contains(&operation));
            (number > step && operation != Operation::Remove).then(|| Errno::NOSPC.into())
        });
        shop.put_variant(b"/v", b"selector", 1, 2);
        shop.close();
        let found = Shop::open(folder.path()).get(b"/v", crate::tests::asking(1));
        let id = found.map(|page| page.meta().id);
        assert!([None, Some(2)].contains(&id), "step {step}: {id:?} came back");
    }
}
