//! Tests of pages with outdated files, whose later versions are waiting to be written.

use super::*;
use myriad_disk::index::FileName;
use myriad_disk::testing::MAX_UNCHECKED_DOOMED;

/// Returns a zone with a page in its file and a later version of that page only in memory.
fn refreshed(folder: &Folder) -> Fixture {
    let limits = ZoneLimits { memory_bytes: 60_000, ..LIMITS };
    let fixture = Fixture::open_with(folder.path(), limits, DiskLimits::default());
    fixture.recover();
    fixture.put(b"/", 1, 500);
    put(&fixture.zone, b"/", 2, 500, fixture.now());
    assert_eq!(folder.files().len(), 1);
    fixture
}

fn push_out(fixture: &Fixture) {
    for n in 0..500_u64 {
        put(&fixture.zone, &n.to_le_bytes(), 100 + n, 500, fixture.now());
    }
    assert!(!fixture.in_memory(b"/"));
}

#[test]
fn a_page_that_memory_let_go_of_before_it_was_written_is_not_followed_by_its_former() {
    let folder = Folder::new();
    let fixture = refreshed(&folder);
    push_out(&fixture);
    assert!(fixture.zone.seek(KeyRef::new(b"/"), plain).is_none());
    fixture.settle();
    assert_eq!(fixture.id(b"/"), Some(2));
}

#[test]
fn a_look_up_that_read_the_former_file_does_not_bring_it_back() {
    let folder = Folder::new();
    let limits = ZoneLimits { memory_bytes: 60_000, ..LIMITS };
    let fixture = Fixture::open_with(folder.path(), limits, DiskLimits::default());
    fixture.recover();
    fixture.put(b"/", 1, 500);
    push_out(&fixture);
    fixture.settle();
    let key = KeyRef::new(b"/");
    let sought = fixture.zone.seek(key, plain).expect("a file");
    let _reader = fixture.zone.load(key, sought, fixture.now()).expect("a load");
    put(&fixture.zone, b"/", 2, 500, fixture.now());
    push_out(&fixture);
    while fixture.pool.run_one(false) {}
    assert_eq!(fixture.id(b"/"), Some(2));
}

#[test]
fn a_page_that_is_not_written_takes_its_former_file_along_unseen_up_to_a_bound() {
    let folder = Folder::new();
    let fixture = Fixture::open(folder.path());
    fixture.put(b"/a", 1, 10);
    fixture.put(b"/b", 1, 10);
    drop(fixture);
    let fixture = Fixture::open(folder.path());
    let disk = &fixture.zone.tier().unwrap().disk;
    disk.pause_writes();
    let doomed = || disk.doomed();
    fixture.put(b"/a", 2, 10);
    fixture.put(b"/none", 2, 10);
    assert_eq!(doomed(), 2, "the disk was not asked");
    for n in 2..MAX_UNCHECKED_DOOMED as u64 {
        disk.doom(FileName::of_key(&n.to_le_bytes()), u128::from(n));
    }
    fixture.put(b"/b", 2, 10);
    fixture.put(b"/no other", 2, 10);
    assert_eq!(doomed(), MAX_UNCHECKED_DOOMED + 1, "only what is there is remembered");
    fixture.now.fetch_add(5000, Relaxed);
    while doomed() > 0 {
        fixture.pool.maintain();
    }
    assert_eq!(folder.files().len(), 0);
}

#[test]
fn a_write_that_came_to_nothing_leaves_a_later_page_of_its_key() {
    let folder = Folder::new();
    let fixture = Fixture::open(folder.path());
    fixture.recover();
    let former = fixture.put(b"/", 1, 10);
    fixture.put(b"/", 2, 10);
    let tier = fixture.zone.tier().unwrap();
    let number = tier.disk.begin_write(&tier.id(&former)).unwrap();
    tier.disk.abandon_write(&tier.id(&former), number);
    assert_eq!((fixture.stats().files, folder.files().len()), (1, 1));
}

#[test]
fn a_stop_that_does_not_wait_for_the_disk_leaves_no_former_page() {
    let folder = Folder::new();
    let fixture = refreshed(&folder);
    // The time for writing is over.
    fixture.pool.stop();
    fixture.close();
    assert_eq!(Fixture::open(folder.path()).id(b"/"), None);
}

#[test]
fn overload_leaves_no_former_page_after_shutdown() {
    let folder = Folder::new();
    let fixture = Fixture::open(folder.path());
    fixture.recover();
    for n in 0..3000_u64 {
        put(&fixture.zone, &n.to_le_bytes(), n, 10, fixture.now());
    }
    fixture.settle();
    for n in 0..6000_u64 {
        put(&fixture.zone, &n.to_le_bytes(), 10_000 + n, 10, fixture.now());
    }
    fixture.pool.stop();
    fixture.close();
    let fixture = Fixture::open(folder.path());
    for n in 0..6000_u64 {
        let id = fixture.id(&n.to_le_bytes());
        assert!(id.is_none_or(|id| id >= 10_000), "{n}: {id:?}");
    }
}

#[test]
fn a_late_write_of_a_former_page_leaves_that_of_a_later_one_alone() {
    let folder = Folder::new();
    let limits = ZoneLimits { memory_bytes: 60_000, ..LIMITS };
    let fixture = Fixture::open_with(folder.path(), limits, DiskLimits::default());
    fixture.recover();
    fixture.put(b"/", 1, 500);
    let former = put(&fixture.zone, b"/", 2, 500, fixture.now());
    put(&fixture.zone, b"/", 3, 500, fixture.now());
    fixture.zone.write(&former);
    push_out(&fixture);
    fixture.settle();
    assert_eq!(fixture.id(b"/"), Some(3));
}

#[test]
fn an_older_page_that_memory_read_before_a_later_one_was_written_is_not_served_after_it() {
    let folder = Folder::new();
    let fixture = Fixture::open(folder.path());
    fixture.recover();
    fixture.put(b"/", 1, 500);
    let key = KeyRef::new(b"/");
    // The later page is evicted from memory before its write begins.
    let later = put(&fixture.zone, b"/", 2, 500, fixture.now());
    let disk = &fixture.zone.tier().unwrap().disk;
    disk.cancel_write(disk.seed().hash(key.bytes()));
    fixture.zone.forget(&later);
    fixture.settle();
    assert_eq!(fixture.id(b"/"), Some(1), "of the file that is to be replaced");
    fixture.zone.write_if(&later, || true);
    fixture.settle();
    assert!(!fixture.in_memory(b"/"));
    assert_eq!(fixture.zone.stats().objects, 0);
    assert_eq!(fixture.zone.stats().purged, 0, "nobody has purged anything");
    assert_eq!(fixture.id(b"/"), Some(2));
}

#[test]
fn every_page_of_a_flood_is_written_or_counted_as_dropped() {
    const PAGES: u64 = 6000;
    let folder = Folder::new();
    let limits = ZoneLimits { memory_bytes: 600_000, ..LIMITS };
    let fixture = Fixture::open_with(folder.path(), limits, DiskLimits::default());
    fixture.recover();
    for n in 0..PAGES {
        put(&fixture.zone, &n.to_le_bytes(), n, 10, fixture.now());
    }
    let done = || fixture.stats().writes + fixture.stats().dropped;
    for _ in 0..20 {
        fixture.settle();
        fixture.pool.maintain();
    }
    fixture.settle();
    assert_eq!(done(), PAGES);
    assert!(fixture.stats().dropped > 0, "memory is too small for all that must wait");
}
