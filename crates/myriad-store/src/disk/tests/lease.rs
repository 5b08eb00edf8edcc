//! Tests of two processes on one folder, of which only one writes.

use super::*;

fn keyed<'a>(keys: &'a [KeyRef<'a>]) -> PurgeScope<'a> {
    PurgeScope::Exact { keys, addresses: &[], labels: &[] }
}

#[test]
fn the_newer_of_two_knows_every_file_so_that_no_purge_of_one_is_forgotten_too_early() {
    let folder = Folder::new();
    let older = Fixture::open(folder.path());
    older.recover();
    older.put(b"/early", 1, 100);
    let newer = Fixture::open(folder.path());
    newer.pool.maintain();
    assert_eq!(newer.id(b"/early"), Some(1), "files are read from the start");
    newer.put(b"/own", 2, 100);
    assert_eq!(folder.files().len(), 1, "the older one writes as yet");
    // The older process has not noticed the newer one, and writes another page.
    older.put(b"/late", 3, 100);
    assert_eq!((folder.files().len(), newer.stats().recovered), (2, false));
    older.pool.maintain();
    older.put(b"/after", 4, 100);
    assert_eq!((folder.files().len(), older.id(b"/after")), (2, Some(4)), "from memory alone");
    newer.recover();
    newer.tend();
    assert_eq!((folder.files().len(), newer.stats().files), (3, 3), "what waited is written");
    assert_eq!(newer.id(b"/after"), None);
    let late = KeyRef::new(b"/late");
    assert_eq!(newer.purge(keyed(&[late]), PurgeKind::Hard), PurgeCount::Exact(1));
    newer.forget_purges();
    drop((older, newer));
    let fixture = Fixture::open(folder.path());
    fixture.recover();
    let found = [&b"/early"[..], b"/own", b"/late", b"/after"].map(|key| fixture.id(key));
    assert_eq!(found, [Some(1), Some(2), None, None]);
}

#[test]
fn a_body_that_arrives_while_the_lease_goes_stays_off_the_disk() {
    let folder = Folder::new();
    let older = Fixture::open(folder.path());
    older.recover();
    // The write is queued before the lease is lost, and runs after that.
    put(&older.zone, b"/", 1, 100, older.now());
    let newer = Fixture::open(folder.path());
    older.pool.maintain();
    older.settle();
    assert_eq!(folder.files().len(), 0);
    newer.recover();
    newer.put(b"/", 2, 100);
    older.close();
    assert_eq!(
        (newer.id(b"/"), folder.files().len()),
        (Some(2), 1),
        "the end of the older one takes nothing"
    );
}

#[test]
fn where_the_newer_one_ends_first_the_older_one_goes_on_without_what_that_has_written() {
    let folder = Folder::new();
    let older = Fixture::open(folder.path());
    older.recover();
    for (key, id) in [(&b"/kept"[..], 1), (b"/anew", 2)] {
        older.put(key, id, 100);
    }
    for key in [&b"/refetched"[..], b"/queued"] {
        older.put(key, 10, 100);
    }
    put(&older.zone, b"/queued", 11, 100, older.now());
    let newer = Fixture::open(folder.path());
    older.pool.maintain();
    older.settle();
    newer.recover();
    newer.put(b"/anew", 3, 100);
    newer.put(b"/its", 4, 100);
    newer.put_variant(b"/varies", b"Cookie", 1, 5);
    older.tend();
    older.purge(keyed(&[KeyRef::new(b"/its")]), PurgeKind::Hard);
    older.put(b"/unwritten", 6, 100);
    older.put(b"/refetched", 12, 100);
    let count = folder.files().len();
    assert_eq!(count, 7);
    // The newer process is killed.
    drop(newer);
    older.tend();
    assert_eq!(
        folder.files().len(),
        4,
        "what the newer one has written is gone, what the older one fetched is there"
    );
    older.put(b"/again", 7, 100);
    assert_eq!(folder.files().len(), 5);
    assert!(older.get(b"/varies", |_, out| out.push(1)).is_none());
    older.forget_purges();
    assert!(
        older.events.lock().iter().all(|event| event.starts_with("Recovered")),
        "{:?}",
        older.events.lock()
    );
    drop(older);
    let fixture = Fixture::open(folder.path());
    fixture.recover();
    let found = [&b"/kept"[..], b"/anew", b"/its", b"/unwritten", b"/again"].map(|key| fixture.id(key));
    assert_eq!(found, [Some(1), None, None, Some(6), Some(7)]);
    assert_eq!(
        [&b"/refetched"[..], b"/queued"].map(|key| fixture.id(key)),
        [Some(12), Some(11)],
        "as fetched last"
    );
    assert!(myriad_disk::testing::logged_purges(folder.path()).is_empty());
}

#[test]
fn a_third_takes_over_from_the_second_while_the_first_is_still_there() {
    let folder = Folder::new();
    let fixtures: Vec<Fixture> = (0..3)
        .map(|id| {
            let fixture = Fixture::open(folder.path());
            fixture.put(b"/", id, 100);
            fixture
        })
        .collect();
    for _ in 0..3 {
        for fixture in &fixtures {
            fixture.tend();
        }
    }
    let writes = |fixture: &Fixture, key: &[u8]| {
        let before = fixture.stats().writes;
        fixture.put(key, 9, 100);
        fixture.stats().writes > before
    };
    let wrote: Vec<bool> = fixtures.iter().map(|fixture| writes(fixture, b"/x")).collect();
    assert_eq!(wrote, [false, false, true]);
}

/// Returns the files of a folder with their contents.
fn contents(folder: &Folder) -> Vec<(PathBuf, Vec<u8>)> {
    folder.files().into_iter().map(|path| (path.clone(), fs::read(&path).unwrap())).collect()
}

/// Returns two processes on one folder, the older one first; the newer one holds the writer lease. Both know the files
/// of the given pages and have none of the pages in memory.
fn older_and_newer(folder: &Folder, keys: &[&[u8]]) -> (Fixture, Fixture) {
    let first = Fixture::open(folder.path());
    first.recover();
    for (id, key) in (1..).zip(keys) {
        first.put(key, id, 100);
    }
    first.close();
    let older = Fixture::open(folder.path());
    older.recover();
    let newer = Fixture::open(folder.path());
    older.pool.maintain();
    newer.recover();
    assert!(keys.iter().all(|key| !older.in_memory(key)));
    assert_eq!(older.stats().files, keys.len());
    (older, newer)
}

#[test]
fn the_older_one_does_not_remove_what_the_newer_one_has_written_in_the_place_of_a_file_that_it_read() {
    let folder = Folder::new();
    let (older, newer) = older_and_newer(&folder, &[b"/"]);
    newer.put(b"/", 7, 100);
    let written = contents(&folder);
    assert_eq!(older.id(b"/"), None, "of a start that it does not know");
    older.tend();
    assert_eq!(contents(&folder), written);
    older.put(b"/", 8, 100);
    assert_eq!(older.id(b"/"), Some(8));
    older.tend();
    older.close();
    assert_eq!(contents(&folder), written);
}

#[test]
fn late_purge_of_older_process_retains_pages_fetched_by_newer_one() {
    let folder = Folder::new();
    let (older, newer) = older_and_newer(&folder, &[b"/", b"/other"]);
    newer.purge(keyed(&[KeyRef::new(b"/")]), PurgeKind::Hard);
    newer.put(b"/", 7, 100);
    let written = contents(&folder);
    older.tend();
    assert_eq!((older.id(b"/"), older.stats().files), (None, 1));
    assert_eq!(contents(&folder), written);
    older.close();
    assert_eq!(contents(&folder), written);
}

#[test]
fn a_write_that_was_queued_before_the_lease_went_does_not_remove_what_the_newer_one_has_written() {
    let folder = Folder::new();
    let older = Fixture::open(folder.path());
    older.recover();
    older.put(b"/", 1, 100);
    put(&older.zone, b"/", 2, 100, older.now());
    let newer = Fixture::open(folder.path());
    older.pool.maintain();
    newer.recover();
    newer.put(b"/", 3, 100);
    let written = contents(&folder);
    older.settle();
    older.tend();
    assert_eq!((older.stats().writes, older.id(b"/")), (1, Some(2)));
    assert_eq!(contents(&folder), written);
    older.close();
    assert_eq!(contents(&folder), written);
}

#[test]
fn what_the_older_one_cannot_read_stays_where_it_is() {
    let folder = Folder::new();
    let (older, newer) = older_and_newer(&folder, &[b"/"]);
    newer.put(b"/", 7, 100);
    fs::write(&folder.files()[0], b"of a later format").unwrap();
    assert_eq!(older.id(b"/"), None);
    older.tend();
    assert_eq!((folder.files().len(), older.stats().quarantined), (1, 0));
}

#[test]
fn a_file_that_a_purge_took_while_another_wrote_goes_once_the_lease_is_back() {
    let folder = Folder::new();
    let (older, newer) = older_and_newer(&folder, &[b"/", b"/other"]);
    // The older process, which does not hold the lease, purges the page. The newer process exits before it reads the
    // purge.
    older.purge(keyed(&[KeyRef::new(b"/")]), PurgeKind::Hard);
    assert_eq!((older.id(b"/"), folder.files().len()), (None, 2));
    drop(newer);
    older.tend();
    assert_eq!(folder.files().len(), 1);
    older.forget_purges();
    drop(older);
    let fixture = Fixture::open(folder.path());
    fixture.recover();
    assert_eq!([&b"/"[..], b"/other"].map(|key| fixture.id(key)), [None, Some(2)]);
}

#[test]
fn recreated_folder_retains_number_of_newest_start() {
    let folder = Folder::new();
    let (older, newer) = older_and_newer(&folder, &[b"/"]);
    let number = || myriad_disk::testing::newest_start(folder.path());
    let newest = number();
    fs::remove_dir_all(folder.path()).unwrap();
    newer.tend();
    assert_eq!(number(), newest);
    older.tend();
    assert_eq!(number(), newest);
    newer.tend();
    newer.put(b"/", 7, 100);
    assert_eq!(folder.files().len(), 1, "the newer one writes");
}

#[test]
fn purge_that_recreates_removed_folder_does_not_wait_for_recovery() {
    use myriad_disk::testing::{EPOCH, write_start};
    let folder = Folder::new();
    let fixture = Fixture::open(folder.path());
    fixture.recover();
    let disk = &fixture.zone.tier().unwrap().disk;
    // Another process has used the new folder and is gone. The log cannot be written there.
    fs::remove_dir_all(folder.path()).unwrap();
    fs::create_dir_all(folder.path().join(".purges.new")).unwrap();
    let newest = disk.epoch().unwrap() + EPOCH;
    write_start(folder.path(), newest);
    fs::write(folder.path().join(".writer"), newest.to_le_bytes()).unwrap();
    disk.during_recovery(|| {
        // The recovery may need the log at any time, so a thread that locks the log and waits for the recovery would
        // deadlock.
        let _purging = fixture.zone.purge(keyed(&[KeyRef::new(b"/")]), PurgeKind::Hard);
        assert!(fixture.pool.wait_until_idle(std::time::Duration::from_secs(30)));
        assert!(disk.is_log_free() && disk.holds_lease());
    });
}

#[test]
fn a_process_that_does_not_write_counts_its_purges_and_forgets_them() {
    let folder = Folder::new();
    let keys: [&[u8]; 5] = [b"/1", b"/2", b"/3", b"/4", b"/5"];
    let (older, newer) = older_and_newer(&folder, &keys);
    let [by_key, by_rule, soft, heard, kept] = keys;
    // Rules that another process purged are not reported here.
    let rule = crate::tests::group(4);
    newer.purge(PurgeScope::Rule { name: "heard", rule: &rule }, PurgeKind::Hard);
    older.purge(keyed(&[KeyRef::new(by_key)]), PurgeKind::Hard);
    older.purge(keyed(&[KeyRef::new(soft)]), PurgeKind::Soft);
    let rule = crate::tests::group(2);
    older.purge(PurgeScope::Rule { name: "own", rule: &rule }, PurgeKind::Hard);
    let reports: Vec<_> = older.tend().into_iter().map(|told| (told.name.to_string(), told.count)).collect();
    assert_eq!(reports, [("own".to_owned(), 1)]);
    older.forget_purges();
    let found = |fixture: &Fixture| keys.map(|key| fixture.id(key).is_some());
    let expected = keys.map(|key| key == kept);
    assert_eq!(
        found(&older),
        expected,
        "{by_rule:?} and {heard:?} are gone, {soft:?} is not known to be stale"
    );
    newer.tend();
    let expected = keys.map(|key| key == kept || key == soft);
    assert_eq!((found(&newer), folder.files().len()), (expected, 2));
    assert!(!newer.get(soft, plain).unwrap().is_fresh(1));
    drop(newer);
    older.tend();
    older.forget_purges();
    assert_eq!((found(&older), folder.files().len()), (keys.map(|key| key == kept), 1));
}

#[test]
fn pages_that_wait_for_the_lease_leave_nothing_to_remove_where_no_file_is() {
    let folder = Folder::new();
    let older = Fixture::open(folder.path());
    older.recover();
    older.put(b"/former", 1, 100);
    let newer = Fixture::open(folder.path());
    for n in 0..500_u64 {
        newer.put(&n.to_le_bytes(), n, 10);
    }
    newer.put(b"/former", 2, 100);
    assert_eq!(newer.zone.tier().unwrap().disk.doomed(), 1);
}

#[test]
fn two_tiers_on_one_folder_share_no_temporary_file() {
    let folder = Folder::new();
    let older = Fixture::open(folder.path());
    older.recover();
    let mut body = older.zone.fetch_unshared(KeyRef::new(b"/1"), 1).admit(admission(1, None));
    body.push(content(1, 2_000_000).into());
    older.settle();
    let newer = Fixture::open(folder.path());
    older.pool.maintain();
    newer.pool.maintain();
    let left = || fs::read_dir(folder.path().join(".tmp")).unwrap().count();
    assert_eq!(left(), 0, "what can get no name any more");
    let mut other = newer.zone.fetch_unshared(KeyRef::new(b"/2"), 1).admit(admission(2, None));
    other.push(content(2, 2_000_000).into());
    newer.settle();
    newer.recover();
    assert_eq!(left(), 1);
    drop(body);
    older.settle();
    assert_eq!(left(), 1, "it removes its own");
    assert!(matches!(other.complete(completion(2, 1, 9_000_000)), Completed::Spilled));
    newer.settle();
    assert_eq!(newer.id(b"/2"), Some(2));
}
