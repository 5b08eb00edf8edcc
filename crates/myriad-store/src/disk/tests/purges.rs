//! Purges that reach pages on disk, and outlive the process that was asked for them.

use super::*;
use crate::tests::{GROUPS, asking, labelled};

fn keyed<'a>(keys: &'a [KeyRef<'a>]) -> Covered<'a> {
    Covered::Exact { keys, addresses: &[], labels: &[] }
}

fn ruled(rule: &[u8]) -> Covered<'_> {
    Covered::Rule { name: "a rule", rule }
}

fn key(id: u64) -> Vec<u8> {
    format!("/{id}").into_bytes()
}

/// Pages 0 to 19 on disk, of which memory has none.
fn stored(folder: &Folder) {
    let shop = Shop::open(folder.path());
    shop.recover();
    for id in 0..20 {
        shop.put(&key(id), id, 10);
    }
    shop.close();
}

/// Memory that holds next to nothing.
fn small(folder: &Folder) -> Shop {
    let limits = ZoneLimits { memory_bytes: 6000, ..LIMITS };
    let shop = Shop::open_with(folder.path(), limits, DiskLimits::default());
    shop.recover();
    shop
}

/// Whether a page is there, and no soft purge has covered it.
fn is_fresh(shop: &Shop, id: u64) -> Option<bool> {
    shop.get(&key(id), plain).map(|page| page.is_fresh(0))
}

fn of_group(id: u64, group: u64) -> bool {
    id % GROUPS == group
}

/// Every kind of purge of the pages of group 1 (all of them by `All`), whether they count at once, and what they cover.
fn kinds(each: impl Fn(Covered<'_>, bool, &dyn Fn(u64) -> bool)) {
    let keys: Vec<Vec<u8>> = (0..20).filter(|id| of_group(*id, 1)).map(key).collect();
    let keys: Vec<KeyRef<'_>> = keys.iter().map(|key| KeyRef::new(key)).collect();
    let of_one = |id: u64| of_group(id, 1);
    each(keyed(&keys), true, &of_one);
    each(labelled(&[1]), true, &of_one);
    each(Covered::Exact { keys: &keys[..2], addresses: &[1], labels: &[] }, true, &of_one);
    each(ruled(&[1]), false, &of_one);
    each(Covered::All, false, &|_| true);
}

#[test]
fn purges_wait_for_nothing_while_the_folder_cannot_be_used() {
    let folder = Folder::new();
    // A file where the folder should be.
    let path = folder.path().join("taken");
    fs::write(&path, b"").unwrap();
    let zone: Zone<Page> = Zone::new("pages", LIMITS);
    let pool = DiskPool::start(2).unwrap();
    let options = DiskOptions {
        path: path.clone(),
        levels: vec![1, 2],
        limits: DiskLimits::default(),
        clock: Arc::new(|| 1_000_000),
        report: Arc::new(|_| {}),
    };
    zone.open_disk(options, &pool);
    let disk = Arc::clone(zone.disk().unwrap());
    for _ in 0..3 {
        let mut purging = std::pin::pin!(zone.purge(labelled(&[1]), Purge::Hard));
        assert!(pool.settle(std::time::Duration::from_secs(10)));
        let end = ready(purging.as_mut().poll(&mut Context::from_waker(Waker::noop())));
        assert!(matches!(end, Err(PurgeError::Unlogged(_))), "{end:?}");
    }
    assert!(!disk.purges.first_stretch.was_waited_for());
}

#[test]
fn pages_in_memory_on_disk_and_in_both_count_once_for_every_kind_of_purge() {
    for purge in [Purge::Hard, Purge::Soft] {
        for warm in [0, 10, 20] {
            kinds(|covered, exact, covers| {
                let folder = Folder::new();
                stored(&folder);
                let shop = Shop::open(folder.path());
                shop.recover();
                (0..warm).for_each(|id| assert_eq!(shop.id(&key(id)), Some(id)));
                let wanted = (0..20).filter(|id| covers(*id)).count();
                let count = shop.purge(covered, purge);
                for id in 0..20 {
                    let expected =
                        if covers(id) { (purge == Purge::Soft).then_some(false) } else { Some(true) };
                    assert_eq!(is_fresh(&shop, id), expected, "{id} {purge:?} {warm} {covered:?}");
                }
                let told = shop.tend();
                if exact {
                    assert_eq!(count, Count::Exact(wanted), "{purge:?} {warm} {covered:?}");
                } else {
                    assert_eq!(count, Count::Later);
                    let counts: Vec<usize> = told.iter().map(|retired| retired.count).collect();
                    assert_eq!(counts, [wanted], "{purge:?} {warm} {covered:?}");
                }
                if purge == Purge::Hard {
                    assert_eq!(folder.files().len(), 20 - wanted);
                    assert_eq!(shop.purge(labelled(&[1]), purge), Count::Exact(0), "they are gone");
                }
            });
        }
    }
}

#[test]
fn answered_purge_of_any_kind_holds_after_a_crash_and_once_it_is_forgotten() {
    for purge in [Purge::Hard, Purge::Soft] {
        for (snapshot, forgotten) in [(true, false), (false, false), (true, true), (false, true)] {
            kinds(|covered, _, covers| {
                let folder = Folder::new();
                stored(&folder);
                let shop = small(&folder);
                let purging = shop.zone.purge(covered, purge);
                // Nothing but the log is written: the process is killed before any file is touched.
                assert!(shop.pool.run_one(true));
                crate::tests::ended(purging);
                shop.die();
                drop(shop);
                if !snapshot {
                    fs::remove_file(folder.path().join(".catalogue")).unwrap();
                }
                let shop = small(&folder);
                if forgotten {
                    shop.forget_purges();
                }
                for _ in 0..2 {
                    for id in 0..20 {
                        let expected =
                            if covers(id) { (purge == Purge::Soft).then_some(false) } else { Some(true) };
                        assert_eq!(is_fresh(&shop, id), expected, "{id} {purge:?} {forgotten} {covered:?}");
                    }
                }
                // What is fetched after it is not what it was for.
                shop.put(&key(1), 1, 10);
                drop(shop);
                let shop = small(&folder);
                assert_eq!(is_fresh(&shop, 1), Some(true));
            });
        }
    }
}

#[test]
fn purge_while_files_are_still_being_found_covers_them_all() {
    for purge in [Purge::Hard, Purge::Soft] {
        kinds(|covered, exact, covers| {
            let folder = Folder::new();
            stored(&folder);
            fs::remove_file(folder.path().join(".catalogue")).unwrap();
            let shop = Shop::open(folder.path());
            let count = shop.purge(covered, purge);
            let is_of_keys = matches!(covered, Covered::Exact { labels: [], addresses: [], .. });
            match count {
                Count::Exact(count) => assert!(is_of_keys && (count == 4 || purge == Purge::Soft)),
                Count::AtLeast(_) => assert!(exact && !is_of_keys),
                Count::Later => assert!(!exact),
            }
            shop.recover();
            for id in 0..20 {
                let expected = if covers(id) { (purge == Purge::Soft).then_some(false) } else { Some(true) };
                assert_eq!(is_fresh(&shop, id), expected, "{id} {purge:?} {covered:?}");
            }
            shop.forget_purges();
            shop.close();
            let shop = small(&folder);
            assert!((0..20).filter(|id| covers(*id)).all(|id| is_fresh(&shop, id) != Some(true)));
        });
    }
}

#[test]
fn variants_on_disk_are_purged_and_counted_one_by_one() {
    let folder = Folder::new();
    let shop = Shop::open(folder.path());
    shop.recover();
    for value in 0..3 {
        shop.put_variant(b"/v", b"Cookie", value, u64::from(value) + 5);
    }
    shop.close();
    let shop = Shop::open(folder.path());
    shop.recover();
    assert_eq!(shop.get(b"/v", asking(1)).unwrap().meta().id, 6);
    assert_eq!(shop.purge(labelled(&[6 % GROUPS]), Purge::Hard), Count::Exact(1));
    assert!(shop.get(b"/v", asking(1)).is_none());
    assert_eq!(shop.get(b"/v", asking(2)).unwrap().meta().id, 7);
    assert_eq!(shop.purge(keyed(&[KeyRef::new(b"/v")]), Purge::Hard), Count::Exact(2));
    assert!((0..3).all(|value| shop.get(b"/v", asking(value)).is_none()));
    shop.settle();
    assert_eq!(folder.files().len(), 0);
}

#[test]
fn marker_goes_with_the_last_of_its_variants() {
    for restarted in [false, true] {
        for covered in [Covered::All, labelled(&[5, 6, 7].map(|id| id % GROUPS))] {
            let folder = Folder::new();
            let mut shop = Shop::open(folder.path());
            shop.recover();
            for value in 0..3 {
                shop.put_variant(b"/v", b"Cookie", value, u64::from(value) + 5);
            }
            if restarted {
                shop.close();
                shop = Shop::open(folder.path());
                shop.recover();
            }
            shop.purge(covered, Purge::Hard);
            shop.tend();
            let stats = shop.stats();
            assert_eq!(
                (stats.files, stats.bytes, folder.files().len()),
                (0, 0, 0),
                "{covered:?} {restarted}"
            );
            // The next one makes another.
            shop.put_variant(b"/v", b"Cookie", 1, 9);
            assert_eq!((shop.stats().files, shop.get(b"/v", asking(1)).unwrap().meta().id), (2, 9));
        }
    }
}

#[test]
fn page_that_waits_to_be_written_or_left_memory_before_is_purged_too() {
    for by_label in [true, false] {
        let folder = Folder::new();
        let shop = Shop::open_with(
            folder.path(),
            ZoneLimits { memory_bytes: 6000, ..LIMITS },
            DiskLimits::default(),
        );
        shop.recover();
        put(&shop.zone, b"/1", 1, 10, shop.now());
        // Evicted before it was written.
        (2..30).step_by(5).for_each(|id| _ = put(&shop.zone, &key(id), id, 1000, shop.now()));
        assert!(!shop.in_memory(b"/1"));
        let purging = shop.zone.purge(if by_label { labelled(&[1]) } else { ruled(&[1]) }, Purge::Hard);
        shop.settle();
        crate::tests::ended(purging);
        assert_eq!(shop.id(b"/1"), None);
        shop.forget_purges();
        shop.close();
        assert_eq!(Shop::open(folder.path()).id(b"/1"), None);
    }
}

#[test]
fn body_on_disk_alone_is_purged_while_it_is_on_its_way_and_afterwards() {
    let folder = Folder::new();
    let limits = ZoneLimits { max_object_bytes: 1000, ..LIMITS };
    for after in [false, true] {
        let shop = Shop::open_with(folder.path(), limits, DiskLimits::default());
        shop.recover();
        let mut body = shop.zone.fetch_alone(KeyRef::new(b"/1"), shop.now()).admit(admission(1, None));
        body.push(content(1, 300_000).into());
        if !after {
            assert_eq!(shop.purge(labelled(&[1]), Purge::Hard), Count::Exact(0));
        }
        assert!(matches!(body.complete(completion(1, shop.now(), 9_000_000)), Completed::Spilled));
        shop.settle();
        if after {
            assert_eq!(shop.id(b"/1"), Some(1));
            assert_eq!(shop.purge(labelled(&[1]), Purge::Hard), Count::Exact(1));
        }
        assert_eq!(shop.id(b"/1"), None);
        shop.settle();
        assert_eq!(folder.files().len(), 0);
    }
}

#[test]
fn many_purges_at_once_share_a_write_and_are_all_answered() {
    let folder = Folder::new();
    stored(&folder);
    let shop = small(&folder);
    let purging: Vec<Purging> =
        (0..20).map(|id| shop.zone.purge(keyed(&[KeyRef::new(&key(id))]), Purge::Hard)).collect();
    assert!(shop.pool.run_one(true), "one job");
    for purging in purging {
        assert_eq!(crate::tests::ended(purging).count, Count::Exact(1));
    }
}

#[test]
fn purge_that_cannot_be_written_down_says_so_holds_and_is_written_later() {
    let folder = Folder::new();
    stored(&folder);
    let shop = small(&folder);
    let away = folder.path().with_extension("away");
    fs::rename(folder.path(), &away).unwrap();
    let mut purging = shop.zone.purge(labelled(&[1]), Purge::Hard);
    shop.settle();
    let end = std::pin::Pin::new(&mut purging).poll(&mut Context::from_waker(Waker::noop()));
    assert!(matches!(end, Poll::Ready(Err(PurgeError::Unlogged(_)))), "{end:?}");
    fs::rename(&away, folder.path()).unwrap();
    shop.now.fetch_add(5000, Relaxed);
    shop.pool.tend();
    drop(shop);
    let shop = small(&folder);
    assert!((0..20).all(|id| shop.id(&key(id)).is_some() != of_group(id, 1)));
}

#[test]
fn purge_before_the_folder_could_be_used_covers_what_is_in_it() {
    let folder = Folder::new();
    stored(&folder);
    let in_the_way = folder.path().join(".sequence.new");
    fs::create_dir(&in_the_way).unwrap();
    let shop = Shop::open(folder.path());
    shop.put(&key(100), 100, 10);
    for covered in [labelled(&[1]), ruled(&[2])] {
        drop(shop.zone.purge(covered, Purge::Hard));
        shop.settle();
    }
    fs::remove_dir(&in_the_way).unwrap();
    shop.now.fetch_add(5000, Relaxed);
    shop.recover();
    for _ in 0..2 {
        assert!((0..20).all(|id| shop.id(&key(id)).is_some() == !matches!(id % GROUPS, 1 | 2)));
        shop.tend();
    }
    drop(shop);
    let shop = small(&folder);
    assert!((0..20).all(|id| shop.id(&key(id)).is_some() == !matches!(id % GROUPS, 1 | 2)));
}

#[test]
fn damaged_log_purges_rather_too_much_than_too_little() {
    let folder = Folder::new();
    stored(&folder);
    let shop = small(&folder);
    shop.purge(labelled(&[1]), Purge::Hard);
    drop(shop);
    let path = folder.path().join(".purges");
    let mut log = fs::read(&path).unwrap();
    log[40] ^= 1;
    fs::write(&path, &log).unwrap();
    let shop = small(&folder);
    assert!((0..20).all(|id| shop.id(&key(id)).is_none()));
    assert!(shop.events.lock().iter().any(|event| event.starts_with("PurgesDamaged")));
    shop.put(&key(1), 1, 10);
    drop(shop);
    assert_eq!(small(&folder).id(&key(1)), Some(1), "what came after is as good as any");
}

#[test]
fn torn_end_of_the_log_takes_nothing_with_it() {
    let folder = Folder::new();
    stored(&folder);
    let shop = small(&folder);
    shop.purge(labelled(&[1]), Purge::Hard);
    let before = fs::read(folder.path().join(".purges")).unwrap();
    let many: Vec<u64> = (1000..1200).collect();
    shop.purge(labelled(&many), Purge::Hard);
    drop(shop);
    let path = folder.path().join(".purges");
    let mut log = fs::read(&path).unwrap();
    log[1024..1536].copy_from_slice(&before[1024..1536]);
    fs::write(&path, &log).unwrap();
    let shop = small(&folder);
    assert!((0..20).all(|id| shop.id(&key(id)).is_some() != of_group(id, 1)));
    assert!(shop.events.lock().iter().any(|event| event.contains("all: false")));
}

#[test]
fn log_is_emptied_once_nothing_can_come_back() {
    let folder = Folder::new();
    stored(&folder);
    let shop = small(&folder);
    for round in 0..300_u64 {
        let labels: Vec<u64> = (round * 100..round * 100 + 100).collect();
        shop.purge(labelled(&labels), if round % 2 == 0 { Purge::Hard } else { Purge::Soft });
    }
    shop.purge(ruled(&[1]), Purge::Hard);
    assert!(fs::metadata(folder.path().join(".purges")).unwrap().len() > 600_000);
    shop.forget_purges();
    assert_eq!(fs::metadata(folder.path().join(".purges")).unwrap().len(), 64 << 10);
}

#[test]
fn file_that_is_older_than_what_is_known_of_it_is_not_served() {
    let folder = Folder::new();
    let shop = Shop::open(folder.path());
    shop.recover();
    shop.put(b"/", 1, 10);
    let path = folder.files().remove(0);
    let old = fs::read(&path).unwrap();
    shop.put(b"/", 2, 10);
    shop.close();
    // A power loss after the end of the run: the later rename never came to the disk.
    fs::write(&path, &old).unwrap();
    let shop = Shop::open(folder.path());
    shop.recover();
    shop.purge(labelled(&[1]), Purge::Hard);
    assert_eq!(shop.id(b"/"), None);
}

#[test]
fn page_stored_before_the_snapshot_was_read_has_no_labels_of_the_one_before_it() {
    let folder = Folder::new();
    let shop = Shop::open(folder.path());
    shop.recover();
    shop.put(b"/", 1, 10);
    shop.close();
    let shop = Shop::open(folder.path());
    shop.put(b"/", 2, 10);
    shop.recover();
    assert_eq!(shop.purge(labelled(&[1]), Purge::Hard), Count::Exact(0));
    shop.tend();
    drop(shop);
    assert_eq!(small(&folder).id(b"/"), Some(2));
}

#[test]
fn purges_of_two_that_share_a_folder_hold_in_both_and_after_a_restart() {
    for ordinary_end in [false, true] {
        let folder = Folder::new();
        let older = Shop::open(folder.path());
        older.recover();
        for id in 0..40_u64 {
            older.put(&id.to_le_bytes(), id, 100);
        }
        let newer = Shop::open(folder.path());
        older.pool.tend();
        newer.recover();
        for id in 0..40_u64 {
            // Half of the pages are made anew by the newer one, before they are purged.
            if id % 2 == 0 {
                newer.put(&id.to_le_bytes(), id, 100);
            }
            assert_eq!(newer.id(&id.to_le_bytes()), Some(id));
        }
        // In turn, through one and the other, without either looking at the folder in between.
        for id in 0..30_u64 {
            let by = if id % 3 == 0 { &older } else { &newer };
            by.purge(keyed(&[KeyRef::new(&id.to_le_bytes())]), Purge::Hard);
        }
        if ordinary_end {
            older.tend();
            newer.tend();
            for (name, shop) in [("older", &older), ("newer", &newer)] {
                let left: Vec<u64> =
                    (0..30).filter(|id: &u64| shop.id(&id.to_le_bytes()).is_some()).collect();
                assert!(left.is_empty(), "{left:?} in the {name}");
            }
            assert!((30..40_u64).all(|id| newer.id(&id.to_le_bytes()) == Some(id)));
        }
        // Killed, both.
        drop((older, newer));
        if !ordinary_end {
            // Whatever became of the files.
            let (log, _) = crate::disk::purge_log::PurgeLog::open(folder.path()).unwrap();
            assert_eq!(log.book.keys.len(), 30);
        }
        let shop = Shop::open(folder.path());
        assert!(!shop.events.lock().iter().any(|event| event.contains("Purges")), "{:?}", shop.events.lock());
        for recovered in [false, true] {
            if recovered {
                shop.recover();
                shop.tend();
            }
            for id in 0..40_u64 {
                let found = shop.id(&id.to_le_bytes());
                assert_eq!(found, (id >= 30).then_some(id), "{id} {ordinary_end} {recovered}");
            }
        }
    }
}

#[test]
fn a_page_that_the_older_of_two_has_purged_itself_is_purged_there_by_the_newer_one_too() {
    let folder = Folder::new();
    let older = Shop::open(folder.path());
    older.recover();
    let newer = Shop::open(folder.path());
    older.pool.tend();
    newer.recover();
    for id in 0..3 {
        older.purge(keyed(&[KeyRef::new(b"/")]), Purge::Hard);
        older.put(b"/", id, 100);
        newer.purge(keyed(&[KeyRef::new(b"/")]), Purge::Hard);
        older.tend();
        assert_eq!(older.id(b"/"), None, "{id}");
    }
}

#[test]
fn purge_by_rule_through_the_older_of_two_covers_what_the_newer_one_fetched() {
    let folder = Folder::new();
    let older = Shop::open(folder.path());
    older.recover();
    let newer = Shop::open(folder.path());
    older.pool.tend();
    newer.recover();
    newer.put(b"/", 1, 100);
    older.purge(Covered::All, Purge::Hard);
    newer.tend();
    assert_eq!(newer.id(b"/"), None);
    newer.put(b"/", 2, 100);
    newer.forget_purges();
    drop((older, newer));
    let shop = Shop::open(folder.path());
    shop.recover();
    shop.tend();
    assert_eq!(shop.id(b"/"), Some(2), "what was fetched after it stays");
}

/// A keeper that looks after another folder, and comes to the next when it is told to.
struct Slow(Mutex<std::sync::mpsc::Receiver<()>>);

impl crate::disk::Tend for Slow {
    fn tend(self: Arc<Self>) -> std::time::Duration {
        let _ = self.0.lock().recv();
        std::time::Duration::from_millis(200)
    }
}

#[test]
fn purge_right_after_a_start_counts_all_there_is_in_a_small_folder() {
    let folder = Folder::new();
    stored(&folder);
    let pool = DiskPool::start(1).unwrap();
    let (release, released) = std::sync::mpsc::channel();
    let slow: Arc<dyn crate::disk::Tend> = Arc::new(Slow(Mutex::new(released)));
    pool.keep(Arc::downgrade(&slow));
    let zone = Zone::<Page>::new("pages", LIMITS);
    let options = DiskOptions {
        path: folder.path().to_owned(),
        levels: vec![1, 2],
        limits: DiskLimits::default(),
        clock: Arc::new(|| 1_000_000),
        report: Arc::new(|_| {}),
    };
    zone.open_disk(options, &pool);
    let mut purging = std::pin::pin!(zone.purge(labelled(&[1]), Purge::Hard));
    let mut context = Context::from_waker(Waker::noop());
    assert!(purging.as_mut().poll(&mut context).is_pending());
    drop(release);
    assert!(pool.settle(std::time::Duration::from_secs(10)));
    let wanted = (0..20).filter(|id| of_group(*id, 1)).count();
    assert_eq!(ready(purging.as_mut().poll(&mut context)).unwrap().count, Count::Exact(wanted));
}
