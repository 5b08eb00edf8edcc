//! Tests of the purge log: it cannot be written, is torn or damaged, is used by two processes, is emptied.

use super::purges::{key, keyed, of_group, ruled, small, stored};
use super::*;
use crate::tests::{GROUPS, labelled};

#[test]
fn unlogged_purge_fails_with_error_takes_effect_and_is_logged_later() {
    let folder = Folder::new();
    stored(&folder);
    let fixture = small(&folder);
    let away = folder.path().with_extension("away");
    fs::rename(folder.path(), &away).unwrap();
    let mut purging = fixture.zone.purge(labelled(&[1]), PurgeKind::Hard);
    fixture.settle();
    let end = std::pin::Pin::new(&mut purging).poll(&mut Context::from_waker(Waker::noop()));
    assert!(matches!(end, Poll::Ready(Err(PurgeError::Unlogged(_)))), "{end:?}");
    fs::rename(&away, folder.path()).unwrap();
    fixture.now.fetch_add(5000, Relaxed);
    fixture.pool.maintain();
    drop(fixture);
    let fixture = small(&folder);
    assert!((0..20).all(|id| fixture.id(&key(id)).is_some() != of_group(id, 1)));
}

#[test]
fn observer_of_a_purge_is_called_even_if_nothing_waits_for_the_purge() {
    let folder = Folder::new();
    stored(&folder);
    let fixture = small(&folder);
    let (results, observed) = std::sync::mpsc::channel();
    let observed_purge = |label| {
        let results = results.clone();
        let purging = fixture.zone.purge(labelled(&[label]), PurgeKind::Hard);
        purging.observe(move |logged| results.send(logged.map(|logged| logged.count)).unwrap());
    };
    observed_purge(1);
    fixture.settle();
    assert!(matches!(observed.try_recv(), Ok(Some(PurgeCount::Exact(_)))));
    let away = folder.path().with_extension("away");
    fs::rename(folder.path(), &away).unwrap();
    observed_purge(2);
    fixture.settle();
    assert_eq!(observed.try_recv(), Ok(None));
    fs::rename(&away, folder.path()).unwrap();
}

#[test]
fn purge_before_the_folder_could_be_used_covers_what_is_in_it() {
    let folder = Folder::new();
    stored(&folder);
    let in_the_way = folder.path().join(".sequence.new");
    fs::create_dir(&in_the_way).unwrap();
    let fixture = Fixture::open(folder.path());
    fixture.put(&key(100), 100, 10);
    for covered in [labelled(&[1]), ruled(&[2])] {
        drop(fixture.zone.purge(covered, PurgeKind::Hard));
        fixture.settle();
    }
    fs::remove_dir(&in_the_way).unwrap();
    fixture.now.fetch_add(5000, Relaxed);
    fixture.recover();
    for _ in 0..2 {
        assert!((0..20).all(|id| fixture.id(&key(id)).is_some() != matches!(id % GROUPS, 1 | 2)));
        fixture.tend();
    }
    drop(fixture);
    let fixture = small(&folder);
    assert!((0..20).all(|id| fixture.id(&key(id)).is_some() != matches!(id % GROUPS, 1 | 2)));
}

#[test]
fn damaged_log_purges_rather_too_much_than_too_little() {
    let folder = Folder::new();
    stored(&folder);
    let fixture = small(&folder);
    fixture.purge(labelled(&[1]), PurgeKind::Hard);
    drop(fixture);
    let path = folder.path().join(".purges");
    let mut log = fs::read(&path).unwrap();
    log[40] ^= 1;
    fs::write(&path, &log).unwrap();
    let fixture = small(&folder);
    assert!((0..20).all(|id| fixture.id(&key(id)).is_none()));
    assert!(fixture.events.lock().iter().any(|event| event.starts_with("PurgesDamaged")));
    fixture.put(&key(1), 1, 10);
    drop(fixture);
    assert_eq!(small(&folder).id(&key(1)), Some(1), "what came after is as good as any");
}

#[test]
fn torn_end_of_the_log_takes_nothing_with_it() {
    let folder = Folder::new();
    stored(&folder);
    let fixture = small(&folder);
    fixture.purge(labelled(&[1]), PurgeKind::Hard);
    let before = fs::read(folder.path().join(".purges")).unwrap();
    let many: Vec<u64> = (1000..1200).collect();
    fixture.purge(labelled(&many), PurgeKind::Hard);
    drop(fixture);
    let path = folder.path().join(".purges");
    let mut log = fs::read(&path).unwrap();
    log[1024..1536].copy_from_slice(&before[1024..1536]);
    fs::write(&path, &log).unwrap();
    let fixture = small(&folder);
    assert!((0..20).all(|id| fixture.id(&key(id)).is_some() != of_group(id, 1)));
    assert!(fixture.events.lock().iter().any(|event| event.contains("all: false")));
}

#[test]
fn log_is_emptied_once_nothing_can_come_back() {
    let folder = Folder::new();
    stored(&folder);
    let fixture = small(&folder);
    for round in 0..300_u64 {
        let labels: Vec<u64> = (round * 100..round * 100 + 100).collect();
        fixture.purge(labelled(&labels), if round % 2 == 0 { PurgeKind::Hard } else { PurgeKind::Soft });
    }
    fixture.purge(ruled(&[1]), PurgeKind::Hard);
    assert!(fs::metadata(folder.path().join(".purges")).unwrap().len() > 600_000);
    fixture.forget_purges();
    assert_eq!(fs::metadata(folder.path().join(".purges")).unwrap().len(), 64 << 10);
}

#[test]
fn file_that_is_older_than_what_is_known_of_it_is_not_served() {
    let folder = Folder::new();
    let fixture = Fixture::open(folder.path());
    fixture.recover();
    fixture.put(b"/", 1, 10);
    let path = folder.files().remove(0);
    let old = fs::read(&path).unwrap();
    fixture.put(b"/", 2, 10);
    fixture.close();
    // Simulates a power loss after the shutdown, before the last rename reached the disk.
    fs::write(&path, &old).unwrap();
    let fixture = Fixture::open(folder.path());
    fixture.recover();
    fixture.purge(labelled(&[1]), PurgeKind::Hard);
    assert_eq!(fixture.id(b"/"), None);
}

#[test]
fn page_stored_before_the_snapshot_was_read_has_no_labels_of_the_one_before_it() {
    let folder = Folder::new();
    let fixture = Fixture::open(folder.path());
    fixture.recover();
    fixture.put(b"/", 1, 10);
    fixture.close();
    let fixture = Fixture::open(folder.path());
    fixture.put(b"/", 2, 10);
    fixture.recover();
    assert_eq!(fixture.purge(labelled(&[1]), PurgeKind::Hard), PurgeCount::Exact(0));
    fixture.tend();
    drop(fixture);
    assert_eq!(small(&folder).id(b"/"), Some(2));
}

#[test]
fn purges_of_two_that_share_a_folder_hold_in_both_and_after_a_restart() {
    for ordinary_end in [false, true] {
        let folder = Folder::new();
        let older = Fixture::open(folder.path());
        older.recover();
        for id in 0..40_u64 {
            older.put(&id.to_le_bytes(), id, 100);
        }
        let newer = Fixture::open(folder.path());
        older.pool.maintain();
        newer.recover();
        for id in 0..40_u64 {
            // The newer process stores half of the pages again before they are purged.
            if id % 2 == 0 {
                newer.put(&id.to_le_bytes(), id, 100);
            }
            assert_eq!(newer.id(&id.to_le_bytes()), Some(id));
        }
        // Both processes purge alternately, without maintenance in between.
        for id in 0..30_u64 {
            let by = if id % 3 == 0 { &older } else { &newer };
            by.purge(keyed(&[KeyRef::new(&id.to_le_bytes())]), PurgeKind::Hard);
        }
        if ordinary_end {
            older.tend();
            newer.tend();
            for (name, fixture) in [("older", &older), ("newer", &newer)] {
                let left: Vec<u64> =
                    (0..30).filter(|id: &u64| fixture.id(&id.to_le_bytes()).is_some()).collect();
                assert!(left.is_empty(), "{left:?} in the {name}");
            }
            assert!((30..40_u64).all(|id| newer.id(&id.to_le_bytes()) == Some(id)));
        }
        // Both processes are killed.
        drop((older, newer));
        if !ordinary_end {
            // This does not depend on the files.
            assert_eq!(myriad_disk::testing::logged_purges(folder.path()).keys.len(), 30);
        }
        let fixture = Fixture::open(folder.path());
        assert!(
            !fixture.events.lock().iter().any(|event| event.contains("Purges")),
            "{:?}",
            fixture.events.lock()
        );
        for recovered in [false, true] {
            if recovered {
                fixture.recover();
                fixture.tend();
            }
            for id in 0..40_u64 {
                let found = fixture.id(&id.to_le_bytes());
                assert_eq!(found, (id >= 30).then_some(id), "{id} {ordinary_end} {recovered}");
            }
        }
    }
}

#[test]
fn a_page_that_the_older_of_two_has_purged_itself_is_purged_there_by_the_newer_one_too() {
    let folder = Folder::new();
    let older = Fixture::open(folder.path());
    older.recover();
    let newer = Fixture::open(folder.path());
    older.pool.maintain();
    newer.recover();
    for id in 0..3 {
        older.purge(keyed(&[KeyRef::new(b"/")]), PurgeKind::Hard);
        older.put(b"/", id, 100);
        newer.purge(keyed(&[KeyRef::new(b"/")]), PurgeKind::Hard);
        older.tend();
        assert_eq!(older.id(b"/"), None, "{id}");
    }
}

#[test]
fn purge_by_rule_through_the_older_of_two_covers_what_the_newer_one_fetched() {
    let folder = Folder::new();
    let older = Fixture::open(folder.path());
    older.recover();
    let newer = Fixture::open(folder.path());
    older.pool.maintain();
    newer.recover();
    newer.put(b"/", 1, 100);
    older.purge(PurgeScope::All, PurgeKind::Hard);
    newer.tend();
    assert_eq!(newer.id(b"/"), None);
    newer.put(b"/", 2, 100);
    newer.forget_purges();
    drop((older, newer));
    let fixture = Fixture::open(folder.path());
    fixture.recover();
    fixture.tend();
    assert_eq!(fixture.id(b"/"), Some(2), "what was fetched after it stays");
}

#[test]
fn expiry_is_distinguished_from_a_purge_of_everything_also_after_a_restart() {
    let folder = Folder::new();
    let fixture = Fixture::open(folder.path());
    fixture.recover();
    for scope in [PurgeScope::All, PurgeScope::Expiry, PurgeScope::All] {
        fixture.purge(scope, PurgeKind::Soft);
    }
    let expiries = |fixture: &Fixture| -> Vec<bool> {
        let mut finished = fixture.tend();
        finished.sort_by_key(|purge| purge.number);
        finished.iter().map(|purge| purge.is_expiry).collect()
    };
    assert_eq!(expiries(&fixture), [false, true, false]);
    fixture.purge(PurgeScope::Expiry, PurgeKind::Soft);
    drop(fixture);
    let fixture = Fixture::open(folder.path());
    fixture.recover();
    assert_eq!(expiries(&fixture).last(), Some(&true), "the newest is the last expiry");
}

#[test]
fn purge_right_after_a_start_counts_all_there_is_in_a_small_folder() {
    let folder = Folder::new();
    stored(&folder);
    let pool = DiskPool::start(1).unwrap();
    let (release, released) = std::sync::mpsc::channel::<()>();
    // The maintenance thread is busy with another folder, and continues with this folder after the signal.
    let _slow = pool.keep_busy(move || _ = released.recv());
    let zone = Zone::<TestPage>::new("pages", LIMITS);
    let options = DiskOptions {
        path: folder.path().to_owned(),
        levels: vec![1, 2],
        limits: DiskLimits::default(),
        clock: Arc::new(|| 1_000_000),
        reference: Arc::new(ClockReference::default),
        report: Arc::new(|_| {}),
    };
    zone.open_disk(options, &pool);
    let mut purging = std::pin::pin!(zone.purge(labelled(&[1]), PurgeKind::Hard));
    let mut context = Context::from_waker(Waker::noop());
    assert!(purging.as_mut().poll(&mut context).is_pending());
    drop(release);
    assert!(pool.wait_until_idle(std::time::Duration::from_secs(10)));
    let wanted = (0..20).filter(|id| of_group(*id, 1)).count();
    assert_eq!(ready(purging.as_mut().poll(&mut context)).unwrap().count, PurgeCount::Exact(wanted));
}
