//! Pages whose files are of the past: later ones wait to be written.

use super::*;
use crate::disk::Name;
use crate::disk::tier::UNASKED;

/// A zone in which a page is in its file, and a later one of its key in memory alone.
fn refreshed(folder: &Folder) -> Shop {
    let limits = ZoneLimits { memory_bytes: 60_000, ..LIMITS };
    let shop = Shop::open_with(folder.path(), limits, DiskLimits::default());
    shop.recover();
    shop.put(b"/", 1, 500);
    put(&shop.zone, b"/", 2, 500, shop.now());
    assert_eq!(folder.files().len(), 1);
    shop
}

fn push_out(shop: &Shop) {
    for n in 0..500_u64 {
        put(&shop.zone, &n.to_le_bytes(), 100 + n, 500, shop.now());
    }
    assert!(!shop.in_memory(b"/"));
}

#[test]
fn a_page_that_memory_let_go_of_before_it_was_written_is_not_followed_by_its_former() {
    let folder = Folder::new();
    let shop = refreshed(&folder);
    push_out(&shop);
    assert!(shop.zone.seek(KeyRef::new(b"/"), plain).is_none());
    shop.settle();
    assert_eq!(shop.id(b"/"), Some(2));
}

#[test]
fn a_look_up_that_read_the_former_file_does_not_bring_it_back() {
    let folder = Folder::new();
    let limits = ZoneLimits { memory_bytes: 60_000, ..LIMITS };
    let shop = Shop::open_with(folder.path(), limits, DiskLimits::default());
    shop.recover();
    shop.put(b"/", 1, 500);
    push_out(&shop);
    shop.settle();
    let key = KeyRef::new(b"/");
    let sought = shop.zone.seek(key, plain).expect("a file");
    let _reader = shop.zone.load(key, sought, shop.now()).expect("a load");
    put(&shop.zone, b"/", 2, 500, shop.now());
    push_out(&shop);
    while shop.pool.run_one(false) {}
    assert_eq!(shop.id(b"/"), Some(2));
}

#[test]
fn a_page_that_is_not_written_takes_its_former_file_along_unseen_up_to_a_bound() {
    let folder = Folder::new();
    let shop = Shop::open(folder.path());
    shop.put(b"/a", 1, 10);
    shop.put(b"/b", 1, 10);
    drop(shop);
    let shop = Shop::open(folder.path());
    let shelf = &shop.zone.disk().unwrap().shelf;
    shelf.health.put_writing_off();
    let doomed = || shelf.catalogue.lock().doomed();
    shop.put(b"/a", 2, 10);
    shop.put(b"/none", 2, 10);
    assert_eq!(doomed(), 2, "the disk was not asked");
    for n in 2..UNASKED as u64 {
        shelf.catalogue.lock().doom_unknown(Name::of_key(&n.to_le_bytes()), u128::from(n));
    }
    shop.put(b"/b", 2, 10);
    shop.put(b"/no other", 2, 10);
    assert_eq!(doomed(), UNASKED + 1, "only what is there is remembered");
    shop.now.fetch_add(5000, Relaxed);
    while doomed() > 0 {
        shop.pool.tend();
    }
    assert_eq!(folder.files().len(), 0);
}

#[test]
fn a_write_that_came_to_nothing_leaves_a_later_page_of_its_key() {
    let folder = Folder::new();
    let shop = Shop::open(folder.path());
    shop.recover();
    let former = shop.put(b"/", 1, 10);
    shop.put(b"/", 2, 10);
    let disk = shop.zone.disk().unwrap();
    let hash = disk.shelf.files.seed.hash(b"/");
    let number = disk.shelf.catalogue.lock().begin_write(hash, None, former.generation()).unwrap();
    disk.abandon(&former, hash, number);
    assert_eq!((shop.stats().files, folder.files().len()), (1, 1));
}

#[test]
fn a_stop_that_does_not_wait_for_the_disk_leaves_no_former_page() {
    let folder = Folder::new();
    let shop = refreshed(&folder);
    // Time is over.
    shop.pool.end();
    shop.close();
    assert_eq!(Shop::open(folder.path()).id(b"/"), None);
}

#[test]
fn what_came_too_fast_leaves_no_former_page_behind_a_stop_either() {
    let folder = Folder::new();
    let shop = Shop::open(folder.path());
    shop.recover();
    for n in 0..3000_u64 {
        put(&shop.zone, &n.to_le_bytes(), n, 10, shop.now());
    }
    shop.settle();
    for n in 0..6000_u64 {
        put(&shop.zone, &n.to_le_bytes(), 10_000 + n, 10, shop.now());
    }
    shop.pool.end();
    shop.close();
    let shop = Shop::open(folder.path());
    for n in 0..6000_u64 {
        let id = shop.id(&n.to_le_bytes());
        assert!(id.is_none_or(|id| id >= 10_000), "{n}: {id:?}");
    }
}

#[test]
fn a_late_write_of_a_former_page_leaves_that_of_a_later_one_alone() {
    let folder = Folder::new();
    let limits = ZoneLimits { memory_bytes: 60_000, ..LIMITS };
    let shop = Shop::open_with(folder.path(), limits, DiskLimits::default());
    shop.recover();
    shop.put(b"/", 1, 500);
    let former = put(&shop.zone, b"/", 2, 500, shop.now());
    put(&shop.zone, b"/", 3, 500, shop.now());
    shop.zone.write(&former);
    push_out(&shop);
    shop.settle();
    assert_eq!(shop.id(b"/"), Some(3));
}

#[test]
fn an_older_page_that_memory_read_before_a_later_one_was_written_is_not_served_after_it() {
    let folder = Folder::new();
    let shop = Shop::open(folder.path());
    shop.recover();
    shop.put(b"/", 1, 500);
    let key = KeyRef::new(b"/");
    // Memory has lost the later one before its write began.
    let later = put(&shop.zone, b"/", 2, 500, shop.now());
    let disk = shop.zone.disk().unwrap();
    disk.shelf.catalogue.lock().cancel(disk.shelf.files.seed.hash(key.bytes()), None);
    shop.zone.forget(&later);
    shop.settle();
    assert_eq!(shop.id(b"/"), Some(1), "of the file that is to be replaced");
    shop.zone.write_if(&later, || true);
    shop.settle();
    assert!(!shop.in_memory(b"/"));
    assert_eq!(shop.zone.stats().objects, 0);
    assert_eq!(shop.zone.stats().purged, 0, "nobody has purged anything");
    assert_eq!(shop.id(b"/"), Some(2));
}

#[test]
fn every_page_of_a_flood_is_written_or_counted_as_dropped() {
    const PAGES: u64 = 6000;
    let folder = Folder::new();
    let limits = ZoneLimits { memory_bytes: 600_000, ..LIMITS };
    let shop = Shop::open_with(folder.path(), limits, DiskLimits::default());
    shop.recover();
    for n in 0..PAGES {
        put(&shop.zone, &n.to_le_bytes(), n, 10, shop.now());
    }
    let done = || shop.stats().writes + shop.stats().dropped;
    for _ in 0..20 {
        shop.settle();
        shop.pool.tend();
    }
    shop.settle();
    assert_eq!(done(), PAGES);
    assert!(shop.stats().dropped > 0, "memory is too small for all that must wait");
}
