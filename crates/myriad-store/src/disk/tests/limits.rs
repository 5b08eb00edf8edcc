//! `max_size`, `min_free`, `keys_zone`, `inactive`.

use super::*;
use crate::disk::pool::Tend;

fn limited(max_bytes: u64) -> DiskLimits {
    DiskLimits { max_bytes, ..DiskLimits::default() }
}

#[test]
fn max_size_holds_after_every_write_of_a_flood() {
    let folder = Folder::new();
    let shop = Shop::open_with(folder.path(), LIMITS, limited(100_000));
    let mut rng = fastrand::Rng::with_seed(1);
    for n in 0..500_u64 {
        shop.put(&n.to_le_bytes(), n, rng.usize(8..20_000));
        assert!(shop.stats().bytes <= 100_000 && folder.bytes() <= 100_000, "after {n}");
        assert_eq!(shop.stats().bytes, folder.bytes());
    }
    assert!(shop.stats().evictions > 400 && folder.bytes() > 50_000);
}

#[test]
fn pages_that_are_in_use_in_memory_outlive_a_scan_on_disk() {
    let folder = Folder::new();
    let shop = Shop::open_with(folder.path(), LIMITS, limited(40 * 4096));
    shop.recover();
    for n in 0..10_u64 {
        shop.put(&n.to_le_bytes(), n, 10);
    }
    for n in 1000..1500_u64 {
        shop.now.fetch_add(1000, Relaxed);
        for hot in 0..10_u64 {
            assert!(shop.zone.get(KeyRef::new(&hot.to_le_bytes()), plain, shop.now()).is_some());
        }
        shop.put(&n.to_le_bytes(), n, 10);
    }
    drop(shop);
    let shop = Shop::open(folder.path());
    assert!((0..10_u64).all(|n| shop.id(&n.to_le_bytes()) == Some(n)));
}

#[test]
fn the_number_of_files_is_bounded() {
    let folder = Folder::new();
    let limits = DiskLimits { max_files: 10, ..DiskLimits::default() };
    let shop = Shop::open_with(folder.path(), LIMITS, limits);
    for n in 0..50_u64 {
        shop.put(&n.to_le_bytes(), n, 10);
        assert!(folder.files().len() <= 10);
    }
}

#[test]
fn the_labels_of_files_are_bounded_with_their_number() {
    let folder = Folder::new();
    let limits = DiskLimits { max_files: 40, ..DiskLimits::default() };
    let counted = |shop: &Shop| shop.zone.disk().unwrap().shelf.catalogue.lock().counted();
    let shop = Shop::open_with(folder.path(), LIMITS, limits);
    shop.recover();
    for n in 0..50_u64 {
        // Of the 38 labels two lie within what a file is reckoned with, and the others count as nine files.
        shop.put(&n.to_le_bytes(), tagged(n, 37), 10);
        assert_eq!(counted(&shop), 10 * folder.files().len());
        assert!(folder.files().len() <= 4, "{n}");
    }
    for n in 45..50_u64 {
        shop.put(&n.to_le_bytes(), tagged(n + 1000, 41), 10);
    }
    // What a page counts is known once it is written.
    assert_eq!((folder.files().len(), counted(&shop)), (4, 44));
    shop.close();
    let shop = Shop::open_with(folder.path(), LIMITS, limits);
    shop.recover();
    assert_eq!(counted(&shop), 33, "as a snapshot tells");
    drop(shop);
    fs::remove_file(folder.path().join(".catalogue")).unwrap();
    let shop = Shop::open_with(folder.path(), LIMITS, limits);
    shop.recover();
    assert_eq!(counted(&shop), 33, "as the files tell");
    for n in 0..60_u64 {
        shop.put(&n.to_le_bytes(), n, 10);
    }
    assert_eq!((folder.files().len(), counted(&shop)), (40, 40));
}

#[test]
fn a_file_system_without_room_takes_no_pages() {
    let folder = Folder::new();
    let limits = DiskLimits { min_free_bytes: u64::MAX / 2, ..DiskLimits::default() };
    let shop = Shop::open_with(folder.path(), LIMITS, limits);
    shop.put(b"/", 1, 10);
    assert_eq!((shop.id(b"/"), folder.files().len(), shop.stats().dropped), (Some(1), 0, 1));
}

#[test]
fn min_free_that_forbids_all_writing_is_told_of_once() {
    let folder = Folder::new();
    let limits = DiskLimits { min_free_bytes: u64::MAX / 2, ..DiskLimits::default() };
    let shop = Shop::open_with(folder.path(), LIMITS, limits);
    for n in 0..20_u64 {
        shop.put(&n.to_le_bytes(), n, 10);
        shop.now.fetch_add(2000, Relaxed);
        shop.pool.tend();
    }
    let told = |what: &str| shop.events.lock().iter().filter(|event| event.contains(what)).count();
    assert_eq!((told("min_free"), told("Failed"), told("Works")), (1, 1, 0), "{:?}", shop.events.lock());
    shop.zone.limit_disk(DiskLimits::default());
    for n in 0..20_u64 {
        shop.put(&n.to_le_bytes(), n, 10);
        shop.now.fetch_add(2000, Relaxed);
        shop.pool.tend();
    }
    assert_eq!((told("min_free"), told("Works"), shop.stats().files), (1, 1, 20));
}

#[test]
fn a_smaller_max_size_is_held_soon_after_a_reload() {
    let folder = Folder::new();
    let shop = Shop::open(folder.path());
    for n in 0..50_u64 {
        shop.put(&n.to_le_bytes(), n, 10);
    }
    shop.zone.limit_disk(limited(10 * 4096));
    shop.pool.tend();
    assert_eq!(folder.bytes(), 10 * 4096);
}

#[test]
fn files_that_nobody_asks_for_go_and_those_in_use_stay() {
    let folder = Folder::new();
    let shop = Shop::open(folder.path());
    shop.recover();
    shop.put(b"used", 1, 10);
    shop.put(b"unused", 2, 10);
    shop.now.fetch_add(400_000, Relaxed);
    assert!(shop.in_memory(b"used"));
    shop.now.fetch_add(400_000, Relaxed);
    while shop.stats().expired == 0 {
        shop.pool.tend();
    }
    assert_eq!((shop.stats().files, shop.stats().expired), (1, 1));
    assert_eq!((shop.id(b"used"), shop.id(b"unused")), (Some(1), None));
}

#[test]
fn min_free_is_held_through_a_flood_of_misses_while_others_fill_the_disk() {
    let folder = Arc::new(Folder::new());
    let min_free = DiskLimits { min_free_bytes: 20 * 4096, ..DiskLimits::default() };
    let shop = Shop::open_with(folder.path(), LIMITS, min_free);
    shop.recover();
    let others = Arc::new(AtomicU64::new(0));
    let free = {
        let (folder, others) = (Arc::clone(&folder), Arc::clone(&others));
        move || (100 * 4096_u64).saturating_sub(folder.bytes() + others.load(Relaxed) * 4096)
    };
    shop.zone.disk().unwrap().shelf.files.faults.leave_free(free.clone());
    let mut most = 0;
    for id in 0..600_u64 {
        others.store(id / 5, Relaxed);
        shop.put(&id.to_le_bytes(), id, 100 + id as usize * 977 % 12_000);
        let is_held = free() >= 20 * 4096 || folder.bytes() == 0;
        assert!(is_held, "{id}: {} of ours, {} of others", folder.bytes(), others.load(Relaxed) * 4096);
        most = most.max(folder.bytes());
    }
    assert!(most > 50 * 4096, "room is used: {most}");
    let told = shop.events.lock().iter().filter(|event| event.contains("min_free")).count();
    assert_eq!((folder.bytes(), told), (0, 1), "{:?}", shop.events.lock());
    // There is room again.
    others.store(0, Relaxed);
    shop.now.fetch_add(60_000, Relaxed);
    shop.put(b"after", 1000, 100);
    assert_eq!(folder.files().len(), 1);
}

#[test]
fn pages_that_come_faster_than_they_can_be_written_are_written_later() {
    let folder = Folder::new();
    let shop = Shop::open(folder.path());
    shop.recover();
    // More than may wait to be written, without a moment for the disk between them.
    for n in 0..5000_u64 {
        put(&shop.zone, &n.to_le_bytes(), n, 10, shop.now());
    }
    shop.settle();
    let at_once = shop.stats().files;
    assert!((1..5000).contains(&at_once), "{at_once}");
    for _ in 0..10 {
        shop.pool.tend();
        shop.settle();
    }
    let stats = shop.stats();
    assert_eq!((stats.files, stats.writes, stats.dropped), (5000, 5000, 0));
    assert_eq!(Shop::open(folder.path()).id(&4999_u64.to_le_bytes()), Some(4999));
}

#[test]
fn a_page_that_was_purged_before_its_turn_is_not_written() {
    let folder = Folder::new();
    let shop = Shop::open(folder.path());
    shop.recover();
    for n in 0..5000_u64 {
        put(&shop.zone, &n.to_le_bytes(), n, 10, shop.now());
    }
    shop.zone.clear();
    for _ in 0..10 {
        shop.settle();
        shop.pool.tend();
    }
    assert_eq!((shop.stats().files, folder.files().len()), (0, 0));
}

#[test]
fn a_stretch_of_the_sweep_that_is_cut_short_goes_on_after_manager_sleep() {
    let folder = Folder::new();
    let manager = Pace { files: 64, sleep_ms: 2, threshold_ms: 10_000 };
    let shop = Shop::open_with(folder.path(), LIMITS, DiskLimits { manager, ..DiskLimits::default() });
    shop.recover();
    for n in 0..150_u64 {
        shop.put(&n.to_le_bytes(), n, 10);
    }
    shop.now.fetch_add(700_000, Relaxed);
    let tend = || Arc::clone(&shop.zone.disk().unwrap().keeper).tend();
    let mut pauses = Vec::new();
    while shop.stats().expired < 150 {
        let before = shop.stats().expired;
        let pause = tend();
        let removed = shop.stats().expired - before;
        assert!(removed <= 64);
        if removed > 0 {
            pauses.push((removed, pause.as_millis() <= 2));
        }
    }
    assert_eq!(pauses, [(64, true), (64, true), (22, false)]);
}
