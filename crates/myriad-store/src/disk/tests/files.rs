//! Tests of writing pages to disk and reading them back.

use super::*;
use crate::tests::{asking, selection};

#[test]
fn a_restart_serves_what_was_stored_before_recovery_has_begun() {
    let folder = Folder::new();
    let fixture = Fixture::open(folder.path());
    let stored = fixture.put(b"httpGETwww.example.org/", 7, 3000);
    fixture.put(b"empty", 8, 0);
    drop(fixture);
    let fixture = Fixture::open(folder.path());
    assert!(!fixture.in_memory(b"httpGETwww.example.org/"));
    let object = fixture.get(b"httpGETwww.example.org/", plain).unwrap();
    assert_eq!(object.meta().id, 7);
    assert_eq!(object.body().segments().concat(), content(7, 3000));
    assert_eq!(object.generation(), stored.generation());
    assert_eq!((object.stored_at(), object.fresh_until()), (stored.stored_at(), stored.fresh_until()));
    assert_eq!(fixture.id(b"empty"), Some(8));
    assert_eq!(fixture.id(b"other"), None);
    assert!(!fixture.stats().recovered && fixture.stats().reads == 2);
    fixture.recover();
    assert_eq!((fixture.stats().files, fixture.stats().bytes), (2, 8192));
}

#[test]
fn a_file_has_nginx_s_name_and_belongs_to_its_user_alone() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    let fixture = Fixture::open(folder.path());
    fixture.put(b"abc", 1, 100);
    let path = folder.path().join("2/f7/900150983cd24fb0d6963f7d28e17f72");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(fs::metadata(path.parent().unwrap()).unwrap().permissions().mode() & 0o777, 0o700);
    assert!(fs::read_dir(folder.path().join(".tmp")).unwrap().next().is_none());
}

#[test]
fn encodings_come_back_also_those_made_later() {
    let folder = Folder::new();
    let fixture = Fixture::open(folder.path());
    let object = fixture.put(b"/", 7, 3000);
    fixture.zone.attach(&object, 2, AlternativeEncoding { bytes: b"br".as_slice().into(), meta: 9 }).unwrap();
    fixture.pool.maintain();
    fixture.settle();
    assert_eq!(fixture.stats().writes, 1, "not at once: there may be more");
    fixture.now.fetch_add(5000, Relaxed);
    std::thread::sleep(std::time::Duration::from_millis(1001));
    fixture.pool.maintain();
    fixture.settle();
    assert_eq!((fixture.stats().writes, fixture.stats().bytes), (2, 4096));
    drop(fixture);
    let fixture = Fixture::open(folder.path());
    let object = fixture.get(b"/", plain).unwrap();
    let alternative = object.alternative(2).unwrap();
    assert_eq!((&alternative.bytes[..], alternative.meta), (&b"br"[..], 9));
    assert!(object.alternative(0).is_none());
}

#[test]
fn what_memory_has_no_room_for_is_read_again() {
    let folder = Folder::new();
    let limits = ZoneLimits { memory_bytes: 100_000, ..LIMITS };
    let fixture = Fixture::open_with(folder.path(), limits, DiskLimits::default());
    fixture.recover();
    for n in 0..100_u64 {
        fixture.put(&n.to_le_bytes(), n, 5000);
    }
    assert!(fixture.zone.stats().evictions > 50);
    for n in 0..100_u64 {
        assert_eq!(fixture.id(&n.to_le_bytes()), Some(n));
    }
    assert_eq!(fixture.stats().files, 100);
}

#[test]
fn absent_key_needs_no_disk_access_once_index_is_complete() {
    let folder = Folder::new();
    let fixture = Fixture::open(folder.path());
    fixture.put(b"/", 1, 10);
    assert!(fixture.zone.seek(KeyRef::new(b"absent"), plain).is_some());
    fixture.recover();
    assert!(fixture.zone.seek(KeyRef::new(b"absent"), plain).is_none());
    assert!(fixture.zone.seek(KeyRef::new(b"/"), plain).is_some());
}

#[test]
fn variants_come_back_each_to_its_own() {
    let folder = Folder::new();
    let fixture = Fixture::open(folder.path());
    for value in 0..5 {
        fixture.put_variant(b"/", b"Cookie", value, u64::from(value) + 10);
    }
    // The marker and five variants.
    assert_eq!(fixture.stats().files, 6);
    drop(fixture);
    for recovered in [false, true] {
        let fixture = Fixture::open(folder.path());
        if recovered {
            fixture.recover();
        }
        for value in 0..5 {
            let object = fixture.get(b"/", asking(value)).unwrap();
            assert_eq!(object.meta().id, u64::from(value) + 10);
            assert_eq!(object.selection(), Some(&selection(b"Cookie", value)));
        }
        assert!(fixture.get(b"/", asking(9)).is_none());
    }
}

#[test]
fn a_key_has_no_more_variants_on_disk_than_it_may_and_those_that_are_used_stay() {
    let folder = Folder::new();
    let fixture = Fixture::open(folder.path());
    fixture.recover();
    for value in 0..60 {
        fixture.now.fetch_add(1000, Relaxed);
        fixture.put_variant(b"/", b"Cookie", value, u64::from(value) + 10);
        // These hits are counted only in memory.
        assert_eq!(fixture.get(b"/", asking(0)).unwrap().meta().id, 10);
        // The marker and the variants.
        assert!(folder.files().len() <= 1 + LIMITS.max_variants, "{}", folder.files().len());
    }
    assert_eq!((fixture.stats().files, folder.files().len()), (17, 17));
    assert_eq!(fixture.stats().bytes, folder.bytes());
    drop(fixture);
    let fixture = Fixture::open(folder.path());
    fixture.recover();
    let found: Vec<u8> = (0..60).filter(|value| fixture.get(b"/", asking(*value)).is_some()).collect();
    assert_eq!(found, std::iter::once(0).chain(45..60).collect::<Vec<u8>>());
}

#[test]
fn variants_that_a_former_run_left_beyond_the_limit_go_at_the_start() {
    for in_order in [false, true] {
        let folder = Folder::new();
        let many = ZoneLimits { max_variants: 100, ..LIMITS };
        let fixture = Fixture::open_with(folder.path(), many, DiskLimits::default());
        fixture.recover();
        for value in 0..60 {
            fixture.put_variant(b"/", b"Cookie", value, u64::from(value) + 10);
        }
        assert_eq!(folder.files().len(), 61);
        // With and without a snapshot of the former run.
        if in_order {
            fixture.close();
        } else {
            drop(fixture);
        }
        let fixture = Fixture::open(folder.path());
        fixture.recover();
        fixture.pool.maintain();
        assert_eq!((fixture.stats().files, folder.files().len()), (17, 17), "{in_order}");
        assert_eq!((0..60).filter(|value| fixture.get(b"/", asking(*value)).is_some()).count(), 16);
    }
}

#[test]
fn another_selector_makes_the_former_variants_unreachable() {
    let folder = Folder::new();
    let fixture = Fixture::open(folder.path());
    fixture.put_variant(b"/", b"Cookie", 1, 10);
    fixture.put_variant(b"/", b"Accept", 1, 20);
    fixture.put_variant(b"/", b"Cookie", 2, 30);
    drop(fixture);
    let fixture = Fixture::open(folder.path());
    assert_eq!(fixture.get(b"/", asking(2)).unwrap().meta().id, 30);
    assert!(fixture.get(b"/", asking(1)).is_none());
    fixture.put(b"/", 40, 100);
    drop(fixture);
    let fixture = Fixture::open(folder.path());
    assert_eq!(fixture.get(b"/", asking(2)).unwrap().meta().id, 40);
}

#[test]
fn what_is_fetched_after_a_restart_counts_as_later() {
    let folder = Folder::new();
    let first = Fixture::open(folder.path());
    let before = first.put(b"/", 1, 10).generation();
    for n in 0..100_u64 {
        first.put(&n.to_le_bytes(), n, 10);
    }
    drop(first);
    let second = Fixture::open(folder.path());
    assert!(second.put(b"/new", 2, 10).generation() > before + 100);
    // The old page in the file does not replace a newer page.
    let newer = second.put(b"/", 3, 10);
    assert!(newer.generation() > before);
    assert_eq!(second.id(b"/"), Some(3));
}

#[test]
fn simultaneous_readers_share_one_disk_read() {
    let folder = Folder::new();
    Fixture::open(folder.path()).put(b"/", 1, 10);
    let fixture = Fixture::open(folder.path());
    let key = KeyRef::new(b"/");
    let sought = fixture.zone.seek(key, plain).unwrap();
    let mut readers: Vec<_> = (0..10).map(|_| fixture.zone.load(key, sought, 1).unwrap()).collect();
    fixture.settle();
    assert_eq!(fixture.stats().reads, 1);
    for reader in &mut readers {
        let end = ready(reader.poll_end(&mut Context::from_waker(Waker::noop()), plain));
        assert!(matches!(end, FlightEnd::Object(object) if object.meta().id == 1));
    }
}

#[test]
fn a_later_page_is_not_overtaken_by_the_write_of_an_earlier_one() {
    let folder = Folder::new();
    let fixture = Fixture::open(folder.path());
    put(&fixture.zone, b"/", 1, 10, 1);
    put(&fixture.zone, b"/", 2, 20, 2);
    // Both writes are queued; the second cancels the first.
    fixture.settle();
    assert_eq!(fixture.stats().writes, 1);
    assert_eq!(Fixture::open(folder.path()).id(b"/"), Some(2));
}
