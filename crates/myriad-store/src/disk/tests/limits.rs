//! Tests of the limits `max_size`, `min_free`, `keys_zone` and `inactive`.

use super::*;

fn limited(max_bytes: u64) -> DiskLimits {
    DiskLimits { max_bytes, ..DiskLimits::default() }
}

#[test]
fn max_size_holds_after_every_write_of_a_flood() {
    let folder = Folder::new();
    let fixture = Fixture::open_with(folder.path(), LIMITS, limited(100_000));
    let mut rng = fastrand::Rng::with_seed(1);
    for n in 0..500_u64 {
        fixture.put(&n.to_le_bytes(), n, rng.usize(8..20_000));
        assert!(fixture.stats().bytes <= 100_000 && folder.bytes() <= 100_000, "after {n}");
        assert_eq!(fixture.stats().bytes, folder.bytes());
    }
    assert!(fixture.stats().evictions > 400 && folder.bytes() > 50_000);
}

#[test]
fn pages_that_are_in_use_in_memory_outlive_a_scan_on_disk() {
    let folder = Folder::new();
    let fixture = Fixture::open_with(folder.path(), LIMITS, limited(40 * 4096));
    fixture.recover();
    for n in 0..10_u64 {
        fixture.put(&n.to_le_bytes(), n, 10);
    }
    for n in 1000..1500_u64 {
        fixture.now.fetch_add(1000, Relaxed);
        for hot in 0..10_u64 {
            assert!(fixture.zone.get(KeyRef::new(&hot.to_le_bytes()), plain, fixture.now()).is_some());
        }
        fixture.put(&n.to_le_bytes(), n, 10);
    }
    drop(fixture);
    let fixture = Fixture::open(folder.path());
    assert!((0..10_u64).all(|n| fixture.id(&n.to_le_bytes()) == Some(n)));
}

#[test]
fn the_number_of_files_is_bounded() {
    let folder = Folder::new();
    let limits = DiskLimits { max_files: 10, ..DiskLimits::default() };
    let fixture = Fixture::open_with(folder.path(), LIMITS, limits);
    for n in 0..50_u64 {
        fixture.put(&n.to_le_bytes(), n, 10);
        assert!(folder.files().len() <= 10);
    }
}

#[test]
fn the_labels_of_files_are_bounded_with_their_number() {
    let folder = Folder::new();
    let limits = DiskLimits { max_files: 40, ..DiskLimits::default() };
    let counted = |fixture: &Fixture| fixture.zone.tier().unwrap().disk.weighted_len();
    let fixture = Fixture::open_with(folder.path(), LIMITS, limits);
    fixture.recover();
    for n in 0..50_u64 {
        // The size of a file includes two of the 38 labels; the others count as nine files.
        fixture.put(&n.to_le_bytes(), tagged(n, 37), 10);
        assert_eq!(counted(&fixture), 10 * folder.files().len());
        assert!(folder.files().len() <= 4, "{n}");
    }
    for n in 45..50_u64 {
        fixture.put(&n.to_le_bytes(), tagged(n + 1000, 41), 10);
    }
    // The share of a page for its labels counts once the page is written.
    assert_eq!((folder.files().len(), counted(&fixture)), (4, 44));
    fixture.close();
    let fixture = Fixture::open_with(folder.path(), LIMITS, limits);
    fixture.recover();
    assert_eq!(counted(&fixture), 33, "as a snapshot tells");
    drop(fixture);
    fs::remove_file(folder.path().join(".catalogue")).unwrap();
    let fixture = Fixture::open_with(folder.path(), LIMITS, limits);
    fixture.recover();
    assert_eq!(counted(&fixture), 33, "as the files tell");
    for n in 0..60_u64 {
        fixture.put(&n.to_le_bytes(), n, 10);
    }
    assert_eq!((folder.files().len(), counted(&fixture)), (40, 40));
}

#[test]
fn a_file_system_without_room_takes_no_pages() {
    let folder = Folder::new();
    let limits = DiskLimits { min_free_bytes: u64::MAX / 2, ..DiskLimits::default() };
    let fixture = Fixture::open_with(folder.path(), LIMITS, limits);
    fixture.put(b"/", 1, 10);
    assert_eq!((fixture.id(b"/"), folder.files().len(), fixture.stats().dropped), (Some(1), 0, 1));
}

#[test]
fn min_free_that_forbids_all_writes_is_reported_once() {
    let folder = Folder::new();
    let limits = DiskLimits { min_free_bytes: u64::MAX / 2, ..DiskLimits::default() };
    let fixture = Fixture::open_with(folder.path(), LIMITS, limits);
    for n in 0..20_u64 {
        fixture.put(&n.to_le_bytes(), n, 10);
        fixture.now.fetch_add(2000, Relaxed);
        fixture.pool.maintain();
    }
    let event_count = |what: &str| fixture.events.lock().iter().filter(|event| event.contains(what)).count();
    assert_eq!(
        (event_count("min_free"), event_count("Failed"), event_count("Works")),
        (1, 1, 0),
        "{:?}",
        fixture.events.lock()
    );
    fixture.zone.limit_disk(DiskLimits::default());
    for n in 0..20_u64 {
        fixture.put(&n.to_le_bytes(), n, 10);
        fixture.now.fetch_add(2000, Relaxed);
        fixture.pool.maintain();
    }
    assert_eq!((event_count("min_free"), event_count("Works"), fixture.stats().files), (1, 1, 20));
}

#[test]
fn a_smaller_max_size_is_held_soon_after_a_reload() {
    let folder = Folder::new();
    let fixture = Fixture::open(folder.path());
    for n in 0..50_u64 {
        fixture.put(&n.to_le_bytes(), n, 10);
    }
    fixture.zone.limit_disk(limited(10 * 4096));
    fixture.pool.maintain();
    assert_eq!(folder.bytes(), 10 * 4096);
}

#[test]
fn unused_files_expire_and_used_files_remain() {
    let folder = Folder::new();
    let fixture = Fixture::open(folder.path());
    fixture.recover();
    fixture.put(b"used", 1, 10);
    fixture.put(b"unused", 2, 10);
    fixture.now.fetch_add(400_000, Relaxed);
    assert!(fixture.in_memory(b"used"));
    fixture.now.fetch_add(400_000, Relaxed);
    while fixture.stats().expired == 0 {
        fixture.pool.maintain();
    }
    assert_eq!((fixture.stats().files, fixture.stats().expired), (1, 1));
    assert_eq!((fixture.id(b"used"), fixture.id(b"unused")), (Some(1), None));
}

#[test]
fn min_free_is_held_through_a_flood_of_misses_while_others_fill_the_disk() {
    let folder = Arc::new(Folder::new());
    let min_free = DiskLimits { min_free_bytes: 20 * 4096, ..DiskLimits::default() };
    let fixture = Fixture::open_with(folder.path(), LIMITS, min_free);
    fixture.recover();
    let others = Arc::new(AtomicU64::new(0));
    let free = {
        let (folder, others) = (Arc::clone(&folder), Arc::clone(&others));
        move || {
            let temporary = fs::read_dir(folder.path().join(".tmp")).into_iter().flatten().flatten();
            let temporary =
                temporary.map(|file| file.metadata().map_or(0, |file| file.len()).div_ceil(4096) * 4096);
            let used = folder.bytes() + temporary.sum::<u64>() + others.load(Relaxed) * 4096;
            (100 * 4096_u64).saturating_sub(used)
        }
    };
    fixture.zone.tier().unwrap().disk.set_free_space(free.clone());
    let mut most = 0;
    for id in 0..600_u64 {
        others.store(id / 5, Relaxed);
        fixture.put(&id.to_le_bytes(), id, 100 + id as usize * 977 % 12_000);
        let is_held = free() >= 20 * 4096 || folder.bytes() == 0;
        assert!(is_held, "{id}: {} of ours, {} of others", folder.bytes(), others.load(Relaxed) * 4096);
        most = most.max(folder.bytes());
    }
    assert!(most > 50 * 4096, "room is used: {most}");
    let event_count = fixture.events.lock().iter().filter(|event| event.contains("min_free")).count();
    assert_eq!((folder.bytes(), event_count), (0, 1), "{:?}", fixture.events.lock());
    // Space is available again.
    others.store(0, Relaxed);
    fixture.now.fetch_add(60_000, Relaxed);
    fixture.put(b"after", 1000, 100);
    assert_eq!(folder.files().len(), 1);
}

#[test]
fn pages_that_come_faster_than_they_can_be_written_are_written_later() {
    let folder = Folder::new();
    let fixture = Fixture::open(folder.path());
    fixture.recover();
    // More pages than the write queue accepts are stored, without time for the disk to write them.
    for n in 0..5000_u64 {
        put(&fixture.zone, &n.to_le_bytes(), n, 10, fixture.now());
    }
    fixture.settle();
    let at_once = fixture.stats().files;
    assert!((1..5000).contains(&at_once), "{at_once}");
    for _ in 0..10 {
        fixture.pool.maintain();
        fixture.settle();
    }
    let stats = fixture.stats();
    assert_eq!((stats.files, stats.writes, stats.dropped), (5000, 5000, 0));
    assert_eq!(Fixture::open(folder.path()).id(&4999_u64.to_le_bytes()), Some(4999));
}

#[test]
fn a_page_that_was_purged_before_it_was_written_is_not_written() {
    let folder = Folder::new();
    let fixture = Fixture::open(folder.path());
    fixture.recover();
    for n in 0..5000_u64 {
        put(&fixture.zone, &n.to_le_bytes(), n, 10, fixture.now());
    }
    fixture.zone.clear();
    for _ in 0..10 {
        fixture.settle();
        fixture.pool.maintain();
    }
    assert_eq!((fixture.stats().files, folder.files().len()), (0, 0));
}

#[test]
fn a_stretch_of_the_sweep_that_is_cut_short_goes_on_after_manager_sleep() {
    let folder = Folder::new();
    let manager = WorkPace { files: 64, sleep_ms: 2, threshold_ms: 10_000 };
    let fixture = Fixture::open_with(folder.path(), LIMITS, DiskLimits { manager, ..DiskLimits::default() });
    fixture.recover();
    for n in 0..150_u64 {
        fixture.put(&n.to_le_bytes(), n, 10);
    }
    fixture.now.fetch_add(700_000, Relaxed);
    let tend = || fixture.zone.tier().unwrap().disk.maintain();
    let mut pauses = Vec::new();
    while fixture.stats().expired < 150 {
        let before = fixture.stats().expired;
        let pause = tend();
        let removed = fixture.stats().expired - before;
        assert!(removed <= 64);
        if removed > 0 {
            pauses.push((removed, pause.as_millis() <= 2));
        }
    }
    assert_eq!(pauses, [(64, true), (64, true), (22, false)]);
}
