use super::*;

#[test]
fn removed_key_is_gone_with_all_its_variants_and_counted() {
    let zone = zone(1 << 20);
    let before = zone.stats().bytes;
    for value in 0..3 {
        let mut body =
            zone.fetch_unshared(KeyRef::new(b"/"), 10).admit(admission(1, Some(selection(b"s", value))));
        body.push(content(1, 10).into());
        body.complete(completion(1, 10, 1000));
    }
    put(&zone, b"/other", 2, 10, 10);
    assert_eq!(zone.remove(KeyRef::new(b"/")), 3);
    assert_eq!(zone.remove(KeyRef::new(b"/")), 0);
    assert!(zone.get(KeyRef::new(b"/"), asking(0), 11).is_none());
    assert!(zone.get(KeyRef::new(b"/other"), plain, 11).is_some());
    assert_eq!(zone.clear(), 1);
    assert_eq!((zone.stats().purged, zone.stats().bytes), (4, before));
}

/// Tests a purge in each phase of a fetch.
#[test]
fn fetch_started_before_purge_is_not_stored_and_gets_no_new_followers() {
    for everything in [false, true] {
        for stage in 0..3 {
            let zone = zone(1 << 20);
            let key = KeyRef::new(b"/");
            let purge = |now: usize| match everything {
                _ if now != stage => {}
                true => _ = zone.clear(),
                false => _ = zone.remove(key),
            };
            let writer = lead(claim(&zone, b"/", 10));
            let mut waiting = waiter(claim(&zone, b"/", 10));
            purge(0);
            let mut body = writer.admit(admission(1, None));
            purge(1);
            body.push(content(1, 10).into());
            purge(2);
            let _after = lead(claim(&zone, b"/", 11));
            assert!(matches!(body.complete(completion(1, 12, 100)), Completed::Unstored(NotStored::Purged)));
            assert!(zone.get(key, plain, 13).is_none());
            assert_eq!(
                drain(&mut waiting).unwrap(),
                content(1, 10),
                "who asked before the purge is answered"
            );
            waiter(claim(&zone, b"/", 13));
        }
    }
}

#[test]
fn what_a_fetch_takes_back_is_all_that_is_older_than_it() {
    let zone = zone(1 << 20);
    let key = KeyRef::new(b"/");
    let older = zone.fetch_unshared(key, 10);
    let variant = |value| {
        let mut body = zone.fetch_unshared(key, 10).admit(admission(1, Some(selection(b"s", value))));
        body.push(content(1, 10).into());
        body.complete(completion(1, 10, 1000));
    };
    (0..3).for_each(variant);
    let own = zone.fetch_unshared(key, 20);
    variant(3);
    assert_eq!(zone.remove_older(key, own.generation()), 3);
    assert!((0..3).all(|value| zone.get(key, asking(value), 21).is_none()));
    assert!(zone.get(key, asking(3), 21).is_some(), "a later fetch has brought it");
    let body = older.admit(admission(1, None));
    assert!(matches!(body.complete(completion(1, 22, 1000)), Completed::Unstored(NotStored::Purged)));
    own.uncacheable(22, 0);
    assert_eq!(zone.remove_older(key, u64::MAX), 1);
    assert_eq!(zone.stats().objects, 0);
}

#[test]
fn fetch_alone_and_fetch_older_than_the_lock_are_purged_too() {
    let zone = zone(1 << 20);
    let alone = zone.fetch_unshared(KeyRef::new(b"/"), 10);
    let aged = lead(claim(&zone, b"/", 10));
    drop(lead(claim(&zone, b"/", 9000)));
    zone.remove(KeyRef::new(b"/"));
    for writer in [alone, aged] {
        let body = writer.admit(admission(1, None));
        assert!(matches!(body.complete(completion(1, 9001, 10_000)), Completed::Unstored(NotStored::Purged)));
    }
}

#[test]
fn revalidation_begun_before_a_purge_brings_nothing_back() {
    let zone = zone(1 << 20);
    let old = put(&zone, b"/", 1, 10, 10);
    let writer = zone.begin_refresh(&old, 20, 1000, None).unwrap();
    assert_eq!(zone.remove(KeyRef::new(b"/")), 1);
    assert!(matches!(writer.renew(completion(2, 25, 5000)), Some(Completed::Unstored(NotStored::Purged))));
    assert!(zone.get(KeyRef::new(b"/"), plain, 30).is_none());
    assert!(zone.begin_refresh(&old, 30, 1000, None).is_none());
}

#[test]
fn purge_forgets_that_the_key_was_uncacheable() {
    let zone = zone(1 << 20);
    lead(claim(&zone, b"/", 10)).uncacheable(10, 1000);
    zone.remove(KeyRef::new(b"/"));
    let writer = lead(claim(&zone, b"/", 11));
    zone.remove(KeyRef::new(b"/"));
    writer.uncacheable(12, 1000);
    lead(claim(&zone, b"/", 13));
}
