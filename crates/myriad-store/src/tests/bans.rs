use super::*;

fn covers(group: u64) -> Covers<Page> {
    Box::new(move |_, page| page.id % GROUPS == group)
}

fn found(zone: &Zone<Page>, key: &[u8]) -> bool {
    zone.get(KeyRef::new(key), plain, 50).is_some()
}

#[test]
fn label_takes_out_all_that_bear_it_and_nothing_else() {
    let zone = zone(1 << 20);
    let before = zone.stats().bytes;
    for id in 0..20 {
        put(&zone, format!("/{id}").as_bytes(), id, 10, 10);
    }
    assert_eq!(zone.purge_labels(&[2, 3], Purge::Hard), 8);
    for id in 0..20 {
        assert_eq!(found(&zone, format!("/{id}").as_bytes()), !matches!(id % GROUPS, 2 | 3), "{id}");
    }
    assert_eq!(zone.purge_labels(&[2], Purge::Hard), 0);
    assert_eq!(zone.purge_labels(&[0, 1, 4], Purge::Hard), 12);
    assert_eq!((zone.stats().bytes, zone.stats().objects), (before, 0));
}

#[test]
fn label_of_one_variant_leaves_the_others() {
    let zone = zone(1 << 20);
    for (id, value) in [(1, 0), (2, 1)] {
        let key = KeyRef::new(b"/");
        let mut body = zone.fetch_alone(key, 10).admit(admission(id, Some(selection(b"s", value))));
        body.push(content(id, 10).into());
        body.complete(completion(id, 10, 1000));
    }
    assert_eq!(zone.purge_labels(&[1], Purge::Hard), 1);
    assert!(zone.get(KeyRef::new(b"/"), asking(0), 11).is_none());
    assert!(zone.get(KeyRef::new(b"/"), asking(1), 11).is_some());
    assert_eq!(zone.purge_labels(&[1, 2], Purge::Hard), 1);
}

#[test]
fn page_that_was_replaced_bears_no_label_any_more() {
    let zone = zone(1 << 20);
    put(&zone, b"/", 1, 10, 10);
    put(&zone, b"/", 2, 10, 20);
    assert_eq!(zone.purge_labels(&[1], Purge::Hard), 0);
    assert_eq!(zone.purge_labels(&[2], Purge::Hard), 1);
}

#[test]
fn ban_takes_effect_at_once_and_is_counted_once_swept() {
    let zone = zone(1 << 20);
    let before = zone.stats().bytes;
    for id in 0..100 {
        put(&zone, format!("/{id}").as_bytes(), id, 10, 10);
    }
    let number = zone.ban("all of 2", Purge::Hard, covers(2));
    assert!(!found(&zone, b"/7"));
    assert!(found(&zone, b"/8"));
    // What is stored anew is not what the ban was for.
    put(&zone, b"/12", 12, 10, 20);
    assert!(found(&zone, b"/12"));
    assert_eq!(zone.tend_bans(1), []);
    let mut retired = Vec::new();
    while retired.is_empty() {
        retired = zone.tend_bans(16);
    }
    // One of the twenty was replaced before the sweep came to it.
    assert_eq!(retired, [Retired { name: "all of 2".into(), number, count: 19 }]);
    assert!(found(&zone, b"/12"));
    assert_eq!(zone.stats().objects, 81);
    assert_eq!((zone.purge_labels(&[0, 1, 2, 3, 4], Purge::Hard), zone.stats().bytes), (81, before));
}

/// Whatever stage a fetch is in when the ban comes.
#[test]
fn fetch_begun_before_a_ban_is_not_stored_and_takes_no_newcomers() {
    for by_label in [false, true] {
        for stage in 0..3 {
            let zone = zone(1 << 20);
            let ban = |now: usize| match by_label {
                _ if now != stage => {}
                true => assert_eq!(zone.purge_labels(&[1], Purge::Hard), 0),
                false => _ = zone.ban("1", Purge::Hard, covers(1)),
            };
            let writer = lead(claim(&zone, b"/", 10));
            let mut waiting = follow(claim(&zone, b"/", 10));
            ban(0);
            let mut body = writer.admit(admission(1, None));
            ban(1);
            body.push(content(1, 10).into());
            ban(2);
            let _after = lead(claim(&zone, b"/", 11));
            // However often the sweep comes by, the ban waits for the fetch.
            (0..4).for_each(|_| assert_eq!(zone.tend_bans(1000), []));
            assert!(matches!(body.complete(completion(1, 12, 100)), Completed::Unstored(Unstored::Purged)));
            assert!(!found(&zone, b"/"));
            assert_eq!(drain(&mut waiting).unwrap(), content(1, 10), "who asked before it is answered");
            follow(claim(&zone, b"/", 13));
        }
    }
}

#[test]
fn fetch_that_a_ban_does_not_cover_keeps_its_followers_and_is_stored() {
    let zone = zone(1 << 20);
    let mut body = lead(claim(&zone, b"/", 10)).admit(admission(2, None));
    zone.purge_labels(&[1], Purge::Hard);
    follow(claim(&zone, b"/", 11));
    body.push(content(2, 10).into());
    assert!(matches!(body.complete(completion(2, 12, 100)), Completed::Stored(_)));
}

#[test]
fn soft_purge_leaves_a_stale_page_also_of_a_fetch_under_way() {
    let zone = zone(1 << 20);
    put(&zone, b"/a", 1, 10, 10);
    let mut body = lead(claim(&zone, b"/b", 10)).admit(admission(6, None));
    assert_eq!(zone.purge_labels(&[1], Purge::Soft), 1);
    body.push(content(6, 10).into());
    body.complete(completion(6, 12, 1000));
    for key in [b"/a", b"/b"] {
        let page = zone.get(KeyRef::new(key), plain, 13).unwrap();
        assert!(!page.is_fresh(13));
        let refresh = zone.begin_refresh(&page, 13, 1000).unwrap();
        refresh.renew(completion(page.meta().id, 14, 500)).unwrap();
        assert!(zone.get(KeyRef::new(key), plain, 15).unwrap().is_fresh(15), "made new after the purge");
    }
}

#[test]
fn ban_by_key_sees_the_key() {
    let zone = zone(1 << 20);
    put(&zone, b"/a/1", 1, 10, 10);
    put(&zone, b"/b/1", 2, 10, 10);
    zone.ban("/a/*", Purge::Hard, Box::new(|key, _| key.starts_with(b"/a/")));
    assert!(!found(&zone, b"/a/1"));
    assert!(found(&zone, b"/b/1"));
}
