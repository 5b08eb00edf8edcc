//! Tests of the recovery at start.

use super::*;

fn stored(folder: &Folder, count: u64) {
    let fixture = Fixture::open(folder.path());
    fixture.recover();
    for n in 0..count {
        fixture.put(&n.to_le_bytes(), n, 10);
    }
    fixture.close();
}

#[test]
fn all_files_are_found_with_and_without_a_snapshot() {
    for snapshot in [true, false] {
        let folder = Folder::new();
        stored(&folder, 300);
        if !snapshot {
            fs::remove_file(folder.path().join(".catalogue")).unwrap();
        }
        let fixture = Fixture::open(folder.path());
        fixture.recover();
        assert_eq!((fixture.stats().files, fixture.stats().bytes), (300, 300 * 4096));
        assert!((0..300_u64).all(|n| fixture.id(&n.to_le_bytes()) == Some(n)));
        assert!(fixture.events.lock().iter().any(|event| event.starts_with("Recovered { files: 300")));
    }
}

#[test]
fn what_the_snapshot_names_and_the_folder_has_not_is_forgotten() {
    let folder = Folder::new();
    stored(&folder, 10);
    let files = folder.files();
    files[..4].iter().for_each(|path| fs::remove_file(path).unwrap());
    let fixture = Fixture::open(folder.path());
    fixture.recover();
    assert_eq!((fixture.stats().files, fixture.stats().bytes), (6, 6 * 4096));
    assert_eq!((0..10_u64).filter(|n| fixture.id(&n.to_le_bytes()).is_some()).count(), 6);
}

#[test]
fn hottest_pages_are_loaded_into_memory_before_first_request() {
    let folder = Folder::new();
    let fixture = Fixture::open(folder.path());
    fixture.recover();
    for n in 0..100_u64 {
        fixture.put(&n.to_le_bytes(), n, 10);
    }
    fixture.now.fetch_add(5000, Relaxed);
    for n in 0..5_u64 {
        assert!(fixture.in_memory(&n.to_le_bytes()));
    }
    fixture.close();
    let fixture = Fixture::open(folder.path());
    fixture.recover();
    assert!((0..5_u64).all(|n| fixture.in_memory(&n.to_le_bytes())));
    assert!(!(50..100_u64).any(|n| fixture.in_memory(&n.to_le_bytes())));
}

#[test]
fn without_a_snapshot_the_oldest_files_leave_first() {
    let folder = Folder::new();
    stored(&folder, 20);
    fs::remove_file(folder.path().join(".catalogue")).unwrap();
    let old = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1000);
    for n in 5..20_u64 {
        let path = myriad_disk::index::FileName::of_key(&n.to_le_bytes()).path(folder.path(), &[1, 2]);
        fs::File::open(path).unwrap().set_modified(old).unwrap();
    }
    let fixture = Fixture::open(folder.path());
    fixture.recover();
    fixture.zone.limit_disk(DiskLimits { max_bytes: 5 * 4096, ..DiskLimits::default() });
    std::thread::sleep(std::time::Duration::from_millis(1001));
    fixture.pool.maintain();
    let left: Vec<u64> = (0..20_u64).filter(|n| fixture.id(&n.to_le_bytes()).is_some()).collect();
    assert_eq!(left, [0, 1, 2, 3, 4]);
}

#[test]
fn temporary_files_of_a_killed_process_are_removed_and_others_let_be() {
    let folder = Folder::new();
    stored(&folder, 3);
    fs::write(folder.path().join(".tmp/1-7"), b"half a page").unwrap();
    fs::write(folder.path().join("notes.txt"), b"mine").unwrap();
    fs::create_dir_all(folder.path().join("photos/2026")).unwrap();
    fs::write(folder.path().join("photos/2026/900150983cd24fb0d6963f7d28e17f72"), b"mine").unwrap();
    let fixture = Fixture::open(folder.path());
    fixture.recover();
    assert!(fs::read_dir(folder.path().join(".tmp")).unwrap().next().is_none());
    assert_eq!((folder.files().len(), fixture.stats().files, fixture.stats().quarantined), (5, 3, 0));
}

#[test]
fn foreign_files_in_cache_paths_are_quarantined_and_reported_once() {
    let folder = Folder::new();
    stored(&folder, 10);
    for path in &folder.files()[..7] {
        fs::write(path, b"\x05\0\0\0 nginx").unwrap();
    }
    fs::remove_file(folder.path().join(".catalogue")).unwrap();
    let fixture = Fixture::open(folder.path());
    fixture.recover();
    assert_eq!((folder.files().len(), fixture.stats().files, fixture.stats().quarantined), (3, 3, 7));
    let is_quarantined =
        |event: &&String| event.starts_with("Quarantined") && event.contains("is_kept: true");
    assert_eq!(fixture.events.lock().iter().filter(is_quarantined).count(), 1);
}

#[test]
fn file_too_large_for_quarantine_is_reported_as_removed() {
    let folder = Folder::new();
    stored(&folder, 1);
    fs::write(&folder.files()[0], [b'x'; 600]).unwrap();
    fs::remove_file(folder.path().join(".catalogue")).unwrap();
    // A sixteenth of this limit is less than the length of the file.
    let disk = DiskLimits { max_bytes: 8192, ..DiskLimits::default() };
    let fixture = Fixture::open_with(folder.path(), LIMITS, disk);
    fixture.recover();
    assert_eq!((folder.files().len(), fixture.stats().quarantined), (0, 1));
    assert!(!folder.path().join(".damaged").exists());
    assert!(fixture.events.lock().iter().any(|event| event.contains("is_kept: false")));
}

#[test]
fn pages_are_served_and_stored_while_the_recovery_runs() {
    let folder = Folder::new();
    stored(&folder, 200);
    let limits =
        DiskLimits { loader: WorkPace { files: 3, sleep_ms: 1, threshold_ms: 200 }, ..DiskLimits::default() };
    let fixture = Fixture::open_with(folder.path(), LIMITS, limits);
    let mut rng = fastrand::Rng::with_seed(4);
    let mut rounds = 0;
    while !fixture.stats().recovered {
        fixture.pool.maintain();
        let n = rng.u64(..200);
        assert!([n, n + 1000].map(Some).contains(&fixture.id(&n.to_le_bytes())));
        fixture.put(&n.to_le_bytes(), n + 1000, 10);
        rounds += 1;
    }
    assert!(rounds > 60, "{rounds}");
    assert_eq!((fixture.stats().files, folder.bytes()), (200, fixture.stats().bytes));
}

#[test]
fn lost_seed_is_replaced_and_its_files_are_quarantined_as_foreign() {
    let folder = Folder::new();
    stored(&folder, 20);
    let seed = folder.path().join(".seed");
    let former = fs::read(&seed).unwrap();
    fs::remove_file(&seed).unwrap();
    let fixture = Fixture::open(folder.path());
    assert_ne!(fs::read(&seed).unwrap(), former);
    assert_eq!(fixture.id(&7_u64.to_le_bytes()), None, "asked for before it was found");
    fixture.recover();
    assert_eq!((fixture.stats().files, fixture.stats().quarantined), (0, 20));
    fixture.put(b"/", 1, 10);
    drop(fixture);
    assert_eq!(Fixture::open(folder.path()).id(b"/"), Some(1));
}

#[test]
fn a_folder_that_comes_after_the_start_with_another_seed_is_left_alone_until_a_restart() {
    let folder = Folder::new();
    stored(&folder, 20);
    let away = folder.path().with_extension("away");
    fs::rename(folder.path(), &away).unwrap();
    fs::write(folder.path(), b"in the way").unwrap();
    let fixture = Fixture::open(folder.path());
    fixture.put(b"/", 1, 10);
    fs::remove_file(folder.path()).unwrap();
    fs::rename(&away, folder.path()).unwrap();
    fixture.events.lock().clear();
    for id in 2..5 {
        // An earlier failure is reported first.
        fixture.zone.tier().unwrap().disk.report_recovery();
        fixture.now.fetch_add(5000, Relaxed);
        fixture.pool.maintain();
        fixture.put(b"/", id, 10);
    }
    assert_eq!(
        (fixture.id(b"/"), fixture.id(&7_u64.to_le_bytes()), fixture.stats().quarantined),
        (Some(4), None, 0)
    );
    assert!(fixture.events.lock().iter().any(|event| event.contains("used after the next restart")));
    fixture.close();
    let fixture = Fixture::open(folder.path());
    fixture.recover();
    assert_eq!(
        (fixture.id(b"/"), fixture.id(&7_u64.to_le_bytes()), fixture.stats().files),
        (None, Some(7), 20)
    );
}

#[test]
fn a_seed_that_a_newer_process_has_made_is_not_replaced_and_nothing_is_written_under_another() {
    let folder = Folder::new();
    let older = Fixture::open(folder.path());
    older.recover();
    older.put(b"/", 1, 10);
    let seed = folder.path().join(".seed");
    let own = fs::read(&seed).unwrap();
    fs::remove_file(&seed).unwrap();
    let newer = Fixture::open(folder.path());
    let made = fs::read(&seed).unwrap();
    assert_ne!(made, own);
    newer.close();
    // The sequence number of the start was removed, too, so only the seed identifies the run.
    fs::remove_file(folder.path().join(".sequence")).unwrap();
    while older.zone.tier().unwrap().disk.holds_lease() {
        older.pool.maintain();
    }
    older.put(b"/unwritten", 2, 10);
    assert_eq!((older.id(b"/unwritten"), folder.files().len()), (Some(2), 1));
    assert_eq!(fs::read(&seed).unwrap(), made);
    // The seed with which the files were written is restored.
    fs::write(&seed, own).unwrap();
    while folder.files().len() < 2 {
        older.now.fetch_add(2000, Relaxed);
        older.pool.maintain();
        older.settle();
    }
}

#[test]
fn a_seed_that_somebody_removes_is_written_again() {
    let folder = Folder::new();
    let fixture = Fixture::open(folder.path());
    fixture.recover();
    fixture.put(b"/", 1, 10);
    let seed = folder.path().join(".seed");
    let own = fs::read(&seed).unwrap();
    fs::remove_file(&seed).unwrap();
    while !seed.exists() {
        fixture.pool.maintain();
    }
    assert_eq!(fs::read(&seed).unwrap(), own);
}

#[test]
fn page_stored_by_a_clock_that_was_ahead_counts_as_stored_now() {
    const AHEAD: u64 = 600_000;
    let folder = Folder::new();
    let fixture = Fixture::open(folder.path());
    fixture.recover();
    let stored = fixture.put(b"/a", 1, 10);
    let (at, fresh_ms) = (stored.stored_at(), stored.fresh_until() - stored.stored_at());
    drop(stored);
    fixture.close();
    let fixture = Fixture::open(folder.path());
    fixture.now.store(at - AHEAD, Relaxed);
    fixture.recover();
    let page = fixture.get(b"/a", plain).expect("the page");
    assert_eq!((page.stored_at(), page.fresh_until()), (at - AHEAD, at - AHEAD + fresh_ms));
    // `inactive` counts from the start, not from times of the clock that was ahead.
    drop(page);
    fixture.now.fetch_add(LIMITS.inactive_ms + 1000, Relaxed);
    while fixture.stats().expired == 0 {
        fixture.pool.maintain();
    }
    assert_eq!(fixture.stats().files, 0);
}

#[test]
fn times_of_another_run_of_the_machine_are_converted_by_the_system_clock() {
    const SET_BY: i64 = 3_600_000;
    const AGE: u64 = 20_000;
    let folder = Folder::new();
    let fixture = Fixture::open(folder.path());
    fixture.recover();
    // The system clock was set forward by an hour after this process started.
    *fixture.reference.lock() = ClockReference { boot: 1, boot_at_ms: 700_000, epoch_at_ms: -SET_BY };
    let stored = fixture.put(b"/a", 1, 10);
    let (at, fresh_ms) = (stored.stored_at(), stored.fresh_until() - stored.stored_at());
    drop(stored);
    fixture.close();
    let fixture = Fixture::open(folder.path());
    *fixture.reference.lock() = ClockReference { boot: 2, boot_at_ms: 0, epoch_at_ms: 0 };
    let at = at + SET_BY.unsigned_abs();
    fixture.now.store(at + AGE, Relaxed);
    fixture.recover();
    let (shown, _) = fixture.zone.inspect_disk(0);
    let shown: Vec<_> = shown.iter().map(|page| (page.stored_at, page.fresh_until)).collect();
    let page = fixture.get(b"/a", plain).expect("the page");
    assert_eq!((page.stored_at(), page.fresh_until()), (at, at + fresh_ms));
    assert_eq!(shown, [(at, at + fresh_ms)]);
}
