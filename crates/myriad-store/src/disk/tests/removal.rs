//! Tests of purges, and of files that other programs remove.

use super::*;
use crate::tests::asking;

#[test]
fn a_purged_page_stays_gone_in_memory_on_disk_and_after_a_restart() {
    let folder = Folder::new();
    let fixture = Fixture::open(folder.path());
    fixture.put(b"/a", 1, 10);
    fixture.put(b"/b", 2, 10);
    assert_eq!(fixture.zone.remove(KeyRef::new(b"/a")), 1);
    assert_eq!((fixture.id(b"/a"), fixture.id(b"/b")), (None, Some(2)), "before the file is removed");
    fixture.settle();
    assert_eq!((folder.files().len(), fixture.stats().bytes), (1, 4096));
    drop(fixture);
    let fixture = Fixture::open(folder.path());
    assert_eq!((fixture.id(b"/a"), fixture.id(b"/b")), (None, Some(2)));
}

#[test]
fn a_purge_reaches_what_no_recovery_has_found_yet() {
    let folder = Folder::new();
    let fixture = Fixture::open(folder.path());
    fixture.put(b"/a", 1, 10);
    fixture.put_variant(b"/v", b"Cookie", 1, 2);
    drop(fixture);
    let fixture = Fixture::open(folder.path());
    fixture.zone.remove(KeyRef::new(b"/a"));
    fixture.zone.remove(KeyRef::new(b"/v"));
    assert_eq!(fixture.id(b"/a"), None);
    assert!(fixture.get(b"/v", asking(1)).is_none());
    fixture.recover();
    assert_eq!(fixture.id(b"/a"), None);
    assert!(fixture.get(b"/v", asking(1)).is_none());
    // The marker has a new family number, so files of variants of the former family are unreachable.
    fixture.put_variant(b"/v", b"Cookie", 2, 3);
    assert!(fixture.get(b"/v", asking(1)).is_none());
    assert_eq!(fixture.get(b"/v", asking(2)).unwrap().meta().id, 3);
}

#[test]
fn clearing_counts_and_removes_everything_also_what_is_yet_to_be_found() {
    let folder = Folder::new();
    let fixture = Fixture::open(folder.path());
    for n in 0..20_u64 {
        fixture.put(&n.to_le_bytes(), n, 10);
    }
    drop(fixture);
    let fixture = Fixture::open(folder.path());
    fixture.zone.clear();
    assert!((0..20_u64).all(|n| fixture.id(&n.to_le_bytes()).is_none()));
    fixture.put(b"new", 99, 10);
    fixture.recover();
    assert_eq!((fixture.id(b"new"), fixture.zone.clear()), (Some(99), 1));
    fixture.settle();
    assert_eq!((folder.files().len(), fixture.stats().bytes), (0, 0));
}

#[test]
fn a_purge_covers_what_is_on_its_way_to_disk_and_from_it() {
    let folder = Folder::new();
    let fixture = Fixture::open(folder.path());
    put(&fixture.zone, b"/", 1, 10, 1);
    fixture.zone.remove(KeyRef::new(b"/"));
    fixture.settle();
    assert_eq!((folder.files().len(), fixture.stats().writes), (0, 0), "the write was queued");
    fixture.put(b"/", 2, 10);
    drop(fixture);
    let fixture = Fixture::open(folder.path());
    let key = KeyRef::new(b"/");
    let _reader = fixture.zone.load(key, fixture.zone.seek(key, plain).unwrap(), 1).unwrap();
    fixture.zone.remove(key);
    fixture.settle();
    assert!(!fixture.in_memory(b"/"), "the read was queued");
    assert!(folder.files().is_empty());
}

#[test]
fn what_is_stored_after_a_purge_is_not_taken_for_purged() {
    let folder = Folder::new();
    let fixture = Fixture::open(folder.path());
    fixture.put(b"/", 1, 10);
    fixture.zone.remove(KeyRef::new(b"/"));
    put(&fixture.zone, b"/", 2, 10, 1);
    fixture.settle();
    assert_eq!(Fixture::open(folder.path()).id(b"/"), Some(2));
}

#[test]
fn a_file_that_somebody_removes_takes_its_page_from_memory() {
    let folder = Folder::new();
    let fixture = Fixture::open(folder.path());
    fixture.put(b"abc", 1, 10);
    fixture.put(b"other", 2, 10);
    fs::remove_file(folder.path().join("2/f7/900150983cd24fb0d6963f7d28e17f72")).unwrap();
    fixture.pool.maintain();
    assert!(!fixture.in_memory(b"abc") && fixture.in_memory(b"other"));
    assert_eq!((fixture.stats().vanished, fixture.stats().files, fixture.stats().bytes), (1, 1, 4096));
}

const ABC: &str = "2/f7/900150983cd24fb0d6963f7d28e17f72";

#[test]
fn a_file_that_somebody_removes_takes_what_is_about_to_replace_it() {
    let folder = Folder::new();
    let fixture = Fixture::open(folder.path());
    fixture.put(b"abc", 1, 10);
    // The write of this page is queued.
    put(&fixture.zone, b"abc", 2, 10, 1);
    fs::remove_file(folder.path().join(ABC)).unwrap();
    fixture.pool.maintain();
    fixture.settle();
    assert_eq!((fixture.id(b"abc"), folder.files().len()), (None, 0));
    fixture.put(b"abc", 3, 10);
    assert_eq!((fixture.id(b"abc"), folder.files().len()), (Some(3), 1));
}

#[test]
fn a_file_that_somebody_removes_takes_what_is_being_fetched_of_its_key() {
    let folder = Folder::new();
    let fixture = Fixture::open(folder.path());
    fixture.put(b"abc", 1, 10);
    // Without this file, the folder would be empty, which removes all pages and cancels all fetches.
    fixture.put(b"other", 4, 10);
    let mut before = fixture.zone.fetch_unshared(KeyRef::new(b"abc"), 1).admit(admission(2, None));
    fs::remove_file(folder.path().join(ABC)).unwrap();
    fixture.pool.maintain();
    let mut after = fixture.zone.fetch_unshared(KeyRef::new(b"abc"), 1).admit(admission(3, None));
    before.push(content(2, 10).into());
    after.push(content(3, 10).into());
    let end = before.complete(completion(2, 1, 1_000_000));
    assert!(matches!(end, Completed::Unstored(NotStored::Purged)), "{end:?}");
    assert!(matches!(after.complete(completion(3, 1, 1_000_000)), Completed::Stored(_)));
    fixture.settle();
    assert_eq!((fixture.id(b"abc"), folder.files().len()), (Some(3), 2));
}

#[test]
fn a_file_of_one_variant_that_somebody_removes_leaves_what_is_written_of_the_others() {
    let folder = Folder::new();
    let fixture = Fixture::open(folder.path());
    fixture.put_variant(b"abc", b"Cookie", 1, 1);
    let before = folder.files();
    fixture.put_variant(b"abc", b"Cookie", 2, 2);
    let of_second = folder.files().into_iter().find(|path| !before.contains(path)).unwrap();
    let selection = crate::tests::selection(b"Cookie", 1);
    let mut body = fixture.zone.fetch_unshared(KeyRef::new(b"abc"), 1).admit(admission(3, Some(selection)));
    body.push(content(3, 10).into());
    assert!(matches!(body.complete(completion(3, 1, 9_000_000)), Completed::Stored(_)));
    fs::remove_file(of_second).unwrap();
    fixture.pool.maintain();
    fixture.settle();
    assert_eq!(fixture.get(b"abc", asking(1)).map(|page| page.meta().id), Some(3), "not the page before");
    assert!(fixture.get(b"abc", asking(2)).is_none());
}

#[test]
fn a_file_that_makes_room_leaves_what_is_being_fetched_of_its_key() {
    let folder = Folder::new();
    let disk = DiskLimits { max_files: 1, ..DiskLimits::default() };
    let fixture = Fixture::open_with(folder.path(), LIMITS, disk);
    fixture.put(b"abc", 1, 10);
    let mut fetch = fixture.zone.fetch_unshared(KeyRef::new(b"abc"), 1).admit(admission(2, None));
    fixture.put(b"other", 3, 10);
    assert!(!fixture.in_memory(b"abc"), "its file made room");
    fixture.pool.maintain();
    fetch.push(content(2, 10).into());
    assert!(matches!(fetch.complete(completion(2, 1, 1_000_000)), Completed::Stored(_)));
    fixture.settle();
    assert_eq!(fixture.id(b"abc"), Some(2));
}

#[test]
fn a_folder_that_somebody_removes_or_moves_away_takes_its_pages() {
    for moved in [false, true] {
        let folder = Folder::new();
        let elsewhere = Folder::new();
        let fixture = Fixture::open(folder.path());
        fixture.recover();
        for n in 0..50_u64 {
            fixture.put(&n.to_le_bytes(), n, 10);
        }
        for entry in fs::read_dir(folder.path()).unwrap().flatten() {
            if moved {
                fs::rename(entry.path(), elsewhere.path().join(entry.file_name())).unwrap();
            } else if entry.path().is_dir() {
                fs::remove_dir_all(entry.path()).unwrap();
            }
        }
        fixture.pool.maintain();
        assert!((0..50_u64).all(|n| fixture.id(&n.to_le_bytes()).is_none()), "moved: {moved}");
        assert_eq!((fixture.stats().files, fixture.stats().bytes), (0, 0));
        // The zone continues normally.
        fixture.put(b"abc", 1, 10);
        fs::remove_file(folder.path().join("2/f7/900150983cd24fb0d6963f7d28e17f72")).unwrap();
        fixture.pool.maintain();
        assert!(!fixture.in_memory(b"abc"));
    }
}

#[test]
fn the_marker_s_file_stands_for_all_variants() {
    let folder = Folder::new();
    let fixture = Fixture::open(folder.path());
    for value in 0..3 {
        fixture.put_variant(b"abc", b"Cookie", value, u64::from(value));
    }
    fs::remove_file(folder.path().join("2/f7/900150983cd24fb0d6963f7d28e17f72")).unwrap();
    fixture.pool.maintain();
    assert!((0..3).all(|value| fixture.get(b"abc", asking(value)).is_none()));
    fixture.settle();
    assert_eq!(fixture.stats().files, 0);
}

#[test]
fn where_folders_cannot_be_watched_files_are_looked_at_in_turn() {
    let folder = Folder::new();
    let fixture = Fixture::open(folder.path());
    fixture.zone.tier().unwrap().disk.disable_watch();
    for n in 0..50_u64 {
        fixture.put(&n.to_le_bytes(), n, 10);
    }
    for path in folder.files() {
        fs::remove_file(path).unwrap();
    }
    fixture.pool.maintain();
    assert!((0..50_u64).all(|n| !fixture.in_memory(&n.to_le_bytes())));
}

#[test]
fn removing_the_folder_itself_clears_all_pages_and_leaves_a_zone_that_works() {
    let folder = Folder::new();
    let fixture = Fixture::open(folder.path());
    fixture.put(b"abc", 1, 10);
    fixture.recover();
    // This page is not on disk yet.
    put(&fixture.zone, b"other", 2, 10, 1);
    fs::remove_dir_all(folder.path()).unwrap();
    let labels = [1];
    assert_eq!(
        fixture.purge(crate::tests::labelled(&labels), PurgeKind::Hard),
        PurgeCount::Exact(0),
        "they are gone"
    );
    fixture.pool.maintain();
    assert!(!fixture.in_memory(b"abc") && !fixture.in_memory(b"other"));
    fixture.pool.maintain();
    assert_eq!((fixture.stats().files, fixture.stats().bytes), (0, 0));
    fixture.put(b"abc", 3, 10);
    assert_eq!(folder.files().len(), 1);
    let removed =
        |fixture: &Fixture| fixture.events.lock().iter().filter(|event| event.starts_with("Removed")).count();
    assert!(removed(&fixture) == 1, "{:?}", fixture.events.lock());
    assert_eq!(fixture.purge(crate::tests::labelled(&[3]), PurgeKind::Hard), PurgeCount::Exact(1));
    fixture.put(b"abc", 4, 10);
    fixture.settle();
    drop(fixture);
    assert_eq!(Fixture::open(folder.path()).id(b"abc"), Some(4), "what came after is as good as any");
}

#[test]
fn folder_that_was_moved_away_may_come_back_and_is_not_taken_for_removed() {
    let folder = Folder::new();
    let fixture = Fixture::open(folder.path());
    fixture.put(b"abc", 1, 10);
    let away = folder.path().with_extension("moved");
    fs::rename(folder.path(), &away).unwrap();
    let purging = fixture.zone.purge(crate::tests::labelled(&[1]), PurgeKind::Hard);
    fixture.settle();
    let mut purging = std::pin::pin!(purging);
    let end = purging.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    assert!(matches!(end, Poll::Ready(Err(PurgeError::Unlogged(_)))), "{end:?}");
    fs::rename(&away, folder.path()).unwrap();
}

/// Returns two keys with the same MD5.
fn twins() -> [[u8; 128]; 2] {
    let hex = concat!(
        "d131dd02c5e6eec4693d9a0698aff95c2fcab58712467eab4004583eb8fb7f8955ad340609f4b30283e488832571415a",
        "085125e8f7cdc99fd91dbdf280373c5bd8823e3156348f5bae6dacd436c919c6dd53e2b487da03fd02396306d248cda0",
        "e99f33420f577ee8ce54b67080a80d1ec69821bcb6a8839396f9652b6ff72a70"
    );
    let digit = |at: usize| u8::from_str_radix(&hex[at * 2..at * 2 + 2], 16).unwrap();
    let one: [u8; 128] = std::array::from_fn(digit);
    let mut other = one;
    for at in [19, 45, 59, 83, 109, 123] {
        other[at] ^= 128;
    }
    [one, other]
}

#[test]
fn a_purge_finds_the_page_of_a_key_that_took_the_file_of_another() {
    let [one, other] = twins();
    for vary in [false, true] {
        let folder = Folder::new();
        let fixture = Fixture::open(folder.path());
        fixture.recover();
        if vary {
            fixture.put_variant(&one, b"selector", 1, 1);
        } else {
            fixture.put(&one, 1, 10);
        }
        fixture.put(&other, 2, 10);
        fixture.pool.maintain();
        assert_eq!(folder.files().len(), 1);
        let keys = &[KeyRef::new(&other)];
        let covered = PurgeScope::Exact { keys, addresses: &[], labels: &[] };
        assert_eq!(fixture.purge(covered, PurgeKind::Hard), PurgeCount::Exact(1));
        fixture.close();
        assert_eq!(folder.files().len(), 0);
    }
}
