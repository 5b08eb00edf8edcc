//! Tests of purges that cover pages on disk and outlive the process.

use super::*;
use crate::tests::{GROUPS, asking, labelled};

pub(super) fn keyed<'a>(keys: &'a [KeyRef<'a>]) -> PurgeScope<'a> {
    PurgeScope::Exact { keys, addresses: &[], labels: &[] }
}

pub(super) fn ruled(rule: &[u8]) -> PurgeScope<'_> {
    PurgeScope::Rule { name: "a rule", rule }
}

pub(super) fn key(id: u64) -> Vec<u8> {
    format!("/{id}").into_bytes()
}

/// Stores pages 0 to 19 on disk, with none of them in memory.
pub(super) fn stored(folder: &Folder) {
    let fixture = Fixture::open(folder.path());
    fixture.recover();
    for id in 0..20 {
        fixture.put(&key(id), id, 10);
    }
    fixture.close();
}

/// Opens a zone with almost no memory.
pub(super) fn small(folder: &Folder) -> Fixture {
    let limits = ZoneLimits { memory_bytes: 6000, ..LIMITS };
    let fixture = Fixture::open_with(folder.path(), limits, DiskLimits::default());
    fixture.recover();
    fixture
}

/// Returns true if a stored page is fresh, false if a soft purge has made it stale; `None` if it is not stored.
pub(super) fn is_fresh(fixture: &Fixture, id: u64) -> Option<bool> {
    fixture.get(&key(id), plain).map(|page| page.is_fresh(0))
}

pub(super) fn of_group(id: u64, group: u64) -> bool {
    id % GROUPS == group
}

/// Calls `each` with every kind of purge of the pages of group 1 (`All`, `Expiry`: of all pages), with true if its result
/// contains the exact number of pages, and with a function that returns true for the pages that it covers.
pub(super) fn kinds(each: impl Fn(PurgeScope<'_>, bool, &dyn Fn(u64) -> bool)) {
    let keys: Vec<Vec<u8>> = (0..20).filter(|id| of_group(*id, 1)).map(key).collect();
    let keys: Vec<KeyRef<'_>> = keys.iter().map(|key| KeyRef::new(key)).collect();
    let of_one = |id: u64| of_group(id, 1);
    each(keyed(&keys), true, &of_one);
    each(labelled(&[1]), true, &of_one);
    each(PurgeScope::Exact { keys: &keys[..2], addresses: &[1], labels: &[] }, true, &of_one);
    each(ruled(&[1]), false, &of_one);
    each(PurgeScope::All, false, &|_| true);
    each(PurgeScope::Expiry, false, &|_| true);
}

#[test]
fn purges_wait_for_nothing_while_the_folder_cannot_be_used() {
    let folder = Folder::new();
    // A file is in the place of the folder.
    let path = folder.path().join("taken");
    fs::write(&path, b"").unwrap();
    let zone: Zone<TestPage> = Zone::new("pages", LIMITS);
    let pool = DiskPool::start(2).unwrap();
    let options = DiskOptions {
        path: path.clone(),
        levels: vec![1, 2],
        limits: DiskLimits::default(),
        clock: Arc::new(|| 1_000_000),
        reference: Arc::new(ClockReference::default),
        report: Arc::new(|_| {}),
    };
    zone.open_disk(options, &pool);
    let tier = Arc::clone(zone.tier().unwrap());
    for _ in 0..3 {
        let mut purging = std::pin::pin!(zone.purge(labelled(&[1]), PurgeKind::Hard));
        assert!(pool.wait_until_idle(std::time::Duration::from_secs(10)));
        let end = ready(purging.as_mut().poll(&mut Context::from_waker(Waker::noop())));
        assert!(matches!(end, Err(PurgeError::Unlogged(_))), "{end:?}");
    }
    assert!(!tier.disk.was_waited_for());
}

#[test]
fn pages_in_memory_on_disk_and_in_both_count_once_for_every_kind_of_purge() {
    for purge in [PurgeKind::Hard, PurgeKind::Soft] {
        for warm in [0, 10, 20] {
            kinds(|covered, exact, covers| {
                let folder = Folder::new();
                stored(&folder);
                let fixture = Fixture::open(folder.path());
                fixture.recover();
                (0..warm).for_each(|id| assert_eq!(fixture.id(&key(id)), Some(id)));
                let wanted = (0..20).filter(|id| covers(*id)).count();
                let count = fixture.purge(covered, purge);
                for id in 0..20 {
                    let expected =
                        if covers(id) { (purge == PurgeKind::Soft).then_some(false) } else { Some(true) };
                    assert_eq!(is_fresh(&fixture, id), expected, "{id} {purge:?} {warm} {covered:?}");
                }
                let reports = fixture.tend();
                if exact {
                    assert_eq!(count, PurgeCount::Exact(wanted), "{purge:?} {warm} {covered:?}");
                } else {
                    assert_eq!(count, PurgeCount::Later);
                    let counts: Vec<usize> = reports.iter().map(|retired| retired.count).collect();
                    assert_eq!(counts, [wanted], "{purge:?} {warm} {covered:?}");
                }
                if purge == PurgeKind::Hard {
                    assert_eq!(folder.files().len(), 20 - wanted);
                    assert_eq!(fixture.purge(labelled(&[1]), purge), PurgeCount::Exact(0), "they are gone");
                }
            });
        }
    }
}

#[test]
fn answered_purge_of_any_kind_holds_after_a_crash_and_once_it_is_forgotten() {
    for purge in [PurgeKind::Hard, PurgeKind::Soft] {
        for (snapshot, forgotten) in [(true, false), (false, false), (true, true), (false, true)] {
            kinds(|covered, _, covers| {
                let folder = Folder::new();
                stored(&folder);
                let fixture = small(&folder);
                let purging = fixture.zone.purge(covered, purge);
                // Only the log is written; the process is killed before it changes any file.
                assert!(fixture.pool.run_one(true));
                crate::tests::completed_purge(purging);
                fixture.die();
                drop(fixture);
                if !snapshot {
                    fs::remove_file(folder.path().join(".catalogue")).unwrap();
                }
                let fixture = small(&folder);
                if forgotten {
                    fixture.forget_purges();
                }
                for _ in 0..2 {
                    for id in 0..20 {
                        let expected =
                            if covers(id) { (purge == PurgeKind::Soft).then_some(false) } else { Some(true) };
                        assert_eq!(
                            is_fresh(&fixture, id),
                            expected,
                            "{id} {purge:?} {forgotten} {covered:?}"
                        );
                    }
                }
                // A page fetched after the purge is not covered.
                fixture.put(&key(1), 1, 10);
                drop(fixture);
                let fixture = small(&folder);
                assert_eq!(is_fresh(&fixture, 1), Some(true));
            });
        }
    }
}

#[test]
fn purge_while_files_are_still_being_found_covers_them_all() {
    for purge in [PurgeKind::Hard, PurgeKind::Soft] {
        kinds(|covered, exact, covers| {
            let folder = Folder::new();
            stored(&folder);
            fs::remove_file(folder.path().join(".catalogue")).unwrap();
            let fixture = Fixture::open(folder.path());
            let count = fixture.purge(covered, purge);
            let is_of_keys = matches!(covered, PurgeScope::Exact { labels: [], addresses: [], .. });
            match count {
                PurgeCount::Exact(count) => assert!(is_of_keys && (count == 4 || purge == PurgeKind::Soft)),
                PurgeCount::AtLeast(_) => assert!(exact && !is_of_keys),
                PurgeCount::Later => assert!(!exact),
            }
            fixture.recover();
            for id in 0..20 {
                let expected =
                    if covers(id) { (purge == PurgeKind::Soft).then_some(false) } else { Some(true) };
                assert_eq!(is_fresh(&fixture, id), expected, "{id} {purge:?} {covered:?}");
            }
            fixture.forget_purges();
            fixture.close();
            let fixture = small(&folder);
            assert!((0..20).filter(|id| covers(*id)).all(|id| is_fresh(&fixture, id) != Some(true)));
        });
    }
}

#[test]
fn variants_on_disk_are_purged_and_counted_one_by_one() {
    let folder = Folder::new();
    let fixture = Fixture::open(folder.path());
    fixture.recover();
    for value in 0..3 {
        fixture.put_variant(b"/v", b"Cookie", value, u64::from(value) + 5);
    }
    fixture.close();
    let fixture = Fixture::open(folder.path());
    fixture.recover();
    assert_eq!(fixture.get(b"/v", asking(1)).unwrap().meta().id, 6);
    assert_eq!(fixture.purge(labelled(&[6 % GROUPS]), PurgeKind::Hard), PurgeCount::Exact(1));
    assert!(fixture.get(b"/v", asking(1)).is_none());
    assert_eq!(fixture.get(b"/v", asking(2)).unwrap().meta().id, 7);
    assert_eq!(fixture.purge(keyed(&[KeyRef::new(b"/v")]), PurgeKind::Hard), PurgeCount::Exact(2));
    assert!((0..3).all(|value| fixture.get(b"/v", asking(value)).is_none()));
    fixture.settle();
    assert_eq!(folder.files().len(), 0);
}

#[test]
fn marker_goes_with_the_last_of_its_variants() {
    for restarted in [false, true] {
        for covered in [PurgeScope::All, labelled(&[5, 6, 7].map(|id| id % GROUPS))] {
            let folder = Folder::new();
            let mut fixture = Fixture::open(folder.path());
            fixture.recover();
            for value in 0..3 {
                fixture.put_variant(b"/v", b"Cookie", value, u64::from(value) + 5);
            }
            if restarted {
                fixture.close();
                fixture = Fixture::open(folder.path());
                fixture.recover();
            }
            fixture.purge(covered, PurgeKind::Hard);
            fixture.tend();
            let stats = fixture.stats();
            assert_eq!(
                (stats.files, stats.bytes, folder.files().len()),
                (0, 0, 0),
                "{covered:?} {restarted}"
            );
            // The next variant creates a new marker.
            fixture.put_variant(b"/v", b"Cookie", 1, 9);
            assert_eq!((fixture.stats().files, fixture.get(b"/v", asking(1)).unwrap().meta().id), (2, 9));
        }
    }
}

#[test]
fn page_that_waits_to_be_written_or_left_memory_before_is_purged_too() {
    for by_label in [true, false] {
        let folder = Folder::new();
        let fixture = Fixture::open_with(
            folder.path(),
            ZoneLimits { memory_bytes: 6000, ..LIMITS },
            DiskLimits::default(),
        );
        fixture.recover();
        put(&fixture.zone, b"/1", 1, 10, fixture.now());
        // The page is evicted before it is written.
        (2..30).step_by(5).for_each(|id| _ = put(&fixture.zone, &key(id), id, 1000, fixture.now()));
        assert!(!fixture.in_memory(b"/1"));
        let purging =
            fixture.zone.purge(if by_label { labelled(&[1]) } else { ruled(&[1]) }, PurgeKind::Hard);
        fixture.settle();
        crate::tests::completed_purge(purging);
        assert_eq!(fixture.id(b"/1"), None);
        fixture.forget_purges();
        fixture.close();
        assert_eq!(Fixture::open(folder.path()).id(b"/1"), None);
    }
}

#[test]
fn body_on_disk_alone_is_purged_while_it_is_on_its_way_and_afterwards() {
    let folder = Folder::new();
    let limits = ZoneLimits { max_object_bytes: 1000, ..LIMITS };
    for after in [false, true] {
        let fixture = Fixture::open_with(folder.path(), limits, DiskLimits::default());
        fixture.recover();
        let mut body =
            fixture.zone.fetch_unshared(KeyRef::new(b"/1"), fixture.now()).admit(admission(1, None));
        body.push(content(1, 300_000).into());
        if !after {
            assert_eq!(fixture.purge(labelled(&[1]), PurgeKind::Hard), PurgeCount::Exact(0));
        }
        assert!(matches!(body.complete(completion(1, fixture.now(), 9_000_000)), Completed::Spilled));
        fixture.settle();
        if after {
            assert_eq!(fixture.id(b"/1"), Some(1));
            assert_eq!(fixture.purge(labelled(&[1]), PurgeKind::Hard), PurgeCount::Exact(1));
        }
        assert_eq!(fixture.id(b"/1"), None);
        fixture.settle();
        assert_eq!(folder.files().len(), 0);
    }
}

#[test]
fn many_purges_at_once_share_a_write_and_are_all_answered() {
    let folder = Folder::new();
    stored(&folder);
    let fixture = small(&folder);
    let purging: Vec<PurgeFuture> =
        (0..20).map(|id| fixture.zone.purge(keyed(&[KeyRef::new(&key(id))]), PurgeKind::Hard)).collect();
    assert!(fixture.pool.run_one(true), "one job");
    for purging in purging {
        assert_eq!(crate::tests::completed_purge(purging).count, PurgeCount::Exact(1));
    }
}
