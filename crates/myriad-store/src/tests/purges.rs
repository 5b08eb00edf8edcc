use super::*;

fn found(zone: &Zone<TestPage>, key: &[u8]) -> bool {
    zone.get(KeyRef::new(key), plain, 50).is_some()
}

#[test]
fn label_takes_out_all_that_bear_it_and_nothing_else() {
    let zone = zone(1 << 20);
    let before = zone.stats().bytes;
    for id in 0..20 {
        put(&zone, format!("/{id}").as_bytes(), id, 10, 10);
    }
    assert_eq!(purge_labels(&zone, &[2, 3], PurgeKind::Hard), 8);
    for id in 0..20 {
        assert_eq!(found(&zone, format!("/{id}").as_bytes()), !matches!(id % GROUPS, 2 | 3), "{id}");
    }
    assert_eq!(purge_labels(&zone, &[2], PurgeKind::Hard), 0);
    assert_eq!(purge_labels(&zone, &[0, 1, 4], PurgeKind::Hard), 12);
    assert_eq!((zone.stats().bytes, zone.stats().objects), (before, 0));
}

#[test]
fn pages_of_a_label_are_counted_exactly_however_many_there_are() {
    for purge in [PurgeKind::Hard, PurgeKind::Soft] {
        let zone = zone(8 << 20);
        for id in 0..2000 {
            put(&zone, format!("/{id}").as_bytes(), id, 10, 10);
        }
        assert_eq!(purge_labels(&zone, &[7, 1, 8, 2], purge), 800);
        assert_eq!(purge_labels(&zone, &[1, 3], purge), if purge == PurgeKind::Hard { 400 } else { 800 });
    }
}

#[test]
fn label_of_one_variant_leaves_the_others() {
    let zone = zone(1 << 20);
    for (id, value) in [(1, 0), (2, 1)] {
        let key = KeyRef::new(b"/");
        let mut body = zone.fetch_unshared(key, 10).admit(admission(id, Some(selection(b"s", value))));
        body.push(content(id, 10).into());
        body.complete(completion(id, 10, 1000));
    }
    assert_eq!(purge_labels(&zone, &[1], PurgeKind::Hard), 1);
    assert!(zone.get(KeyRef::new(b"/"), asking(0), 11).is_none());
    assert!(zone.get(KeyRef::new(b"/"), asking(1), 11).is_some());
    assert_eq!(purge_labels(&zone, &[1, 2], PurgeKind::Hard), 1);
}

#[test]
fn page_that_was_replaced_bears_no_label_any_more() {
    let zone = zone(1 << 20);
    put(&zone, b"/", 1, 10, 10);
    put(&zone, b"/", 2, 10, 20);
    assert_eq!(purge_labels(&zone, &[1], PurgeKind::Hard), 0);
    assert_eq!(purge_labels(&zone, &[2], PurgeKind::Hard), 1);
}

#[test]
fn purge_by_rule_takes_effect_at_once_and_is_counted_once_swept() {
    let zone = zone(1 << 20);
    let before = zone.stats().bytes;
    for id in 0..100 {
        put(&zone, format!("/{id}").as_bytes(), id, 10, 10);
    }
    let number = purge_rule(&zone, "all of 2", PurgeKind::Hard, 2);
    assert!(!found(&zone, b"/7"));
    assert!(found(&zone, b"/8"));
    // A page stored after the purge is not covered.
    put(&zone, b"/12", 12, 10, 20);
    assert!(found(&zone, b"/12"));
    assert_eq!(zone.maintain_purges(1), []);
    let mut retired = Vec::new();
    while retired.is_empty() {
        retired = zone.maintain_purges(16);
    }
    // One of the twenty pages was replaced before the check against the rule reached it.
    assert_eq!(retired, [FinishedPurge { name: "all of 2".into(), number, count: 19, is_expiry: false }]);
    assert!(found(&zone, b"/12"));
    assert_eq!(zone.stats().objects, 81);
    assert_eq!((purge_labels(&zone, &[0, 1, 2, 3, 4], PurgeKind::Hard), zone.stats().bytes), (81, before));
}

/// Tests a purge in each phase of a fetch.
#[test]
fn fetch_started_before_purge_is_not_stored_and_gets_no_new_followers() {
    for by_label in [false, true] {
        for stage in 0..3 {
            let zone = zone(1 << 20);
            let purge_now = |now: usize| match by_label {
                _ if now != stage => {}
                true => assert_eq!(purge_labels(&zone, &[1], PurgeKind::Hard), 0),
                false => _ = purge_rule(&zone, "1", PurgeKind::Hard, 1),
            };
            let writer = lead(claim(&zone, b"/", 10));
            let mut waiting = waiter(claim(&zone, b"/", 10));
            purge_now(0);
            let mut body = writer.admit(admission(1, None));
            purge_now(1);
            body.push(content(1, 10).into());
            purge_now(2);
            let _after = lead(claim(&zone, b"/", 11));
            // The purge is retained for the fetch, however often all objects have been checked.
            (0..4).for_each(|_| assert!(zone.maintain_purges(1000).iter().all(|told| told.count == 0)));
            assert_eq!(zone.live_purges(), 1);
            assert!(matches!(body.complete(completion(1, 12, 100)), Completed::Unstored(NotStored::Purged)));
            assert!(!found(&zone, b"/"));
            assert_eq!(drain(&mut waiting).unwrap(), content(1, 10), "who asked before it is answered");
            waiter(claim(&zone, b"/", 13));
        }
    }
}

#[test]
fn fetch_not_covered_by_ban_retains_followers_and_is_stored() {
    let zone = zone(1 << 20);
    let mut body = lead(claim(&zone, b"/", 10)).admit(admission(2, None));
    purge_labels(&zone, &[1], PurgeKind::Hard);
    waiter(claim(&zone, b"/", 11));
    body.push(content(2, 10).into());
    assert!(matches!(body.complete(completion(2, 12, 100)), Completed::Stored(_)));
}

#[test]
fn soft_purge_sets_time_from_which_page_is_stale() {
    let rule: Vec<u8> = vec![1];
    for by_rule in [false, true] {
        let zone = zone(1 << 20);
        let purge = |from| {
            let keys = [KeyRef::new(b"/")];
            let exactly = PurgeScope::Exact { keys: &keys, addresses: &[], labels: &[] };
            let covered = if by_rule { PurgeScope::Rule { name: "", rule: &rule } } else { exactly };
            drop(zone.purge_from(covered, PurgeKind::Soft, from));
            zone.get(KeyRef::new(b"/"), plain, 20).unwrap().fresh_until()
        };
        put(&zone, b"/", 1, 10, 1000);
        assert_eq!(purge(500), 500);
        assert_eq!(purge(700), 500, "it is no fresher by another");
        put(&zone, b"/", 1, 10, 1000);
        let was = zone.get(KeyRef::new(b"/"), plain, 20).unwrap().fresh_until();
        assert_eq!(purge(was + 1), was, "it was stale before");
        assert_eq!(purge(0), 0, "to be fetched before it is shown");
        assert_eq!(purge(900), 0);
    }
}

#[test]
fn soft_purge_leaves_a_stale_page_also_of_a_fetch_under_way() {
    let zone = zone(1 << 20);
    put(&zone, b"/a", 1, 10, 10);
    let mut body = lead(claim(&zone, b"/b", 10)).admit(admission(6, None));
    assert_eq!(purge_labels(&zone, &[1], PurgeKind::Soft), 1);
    body.push(content(6, 10).into());
    body.complete(completion(6, 12, 1000));
    for key in [b"/a", b"/b"] {
        let page = zone.get(KeyRef::new(key), plain, 13).unwrap();
        assert!(!page.is_fresh(13));
        let refresh = zone.begin_refresh(&page, 13, 1000, None).unwrap();
        refresh.renew(completion(page.meta().id, 14, 500)).unwrap();
        assert!(zone.get(KeyRef::new(key), plain, 15).unwrap().is_fresh(15), "made new after the purge");
    }
}

#[test]
fn fetch_of_claimed_address_retains_followers_when_another_address_is_purged() {
    let zone = zone(1 << 20);
    let claim_at = |address| {
        let options = ClaimOptions { address: Some([address, 76]), ..at(10) };
        zone.claim(KeyRef::new(b"/"), plain, |page| page.is_fresh(10), options)
    };
    let purge = |addresses: &[u64]| {
        completed_purge(zone.purge(PurgeScope::Exact { keys: &[], addresses, labels: &[] }, PurgeKind::Hard))
    };
    let writer = lead(claim_at(77));
    purge(&[78]);
    waiter(claim_at(77));
    purge(&[77]);
    let _after = lead(claim_at(77));
    let mut body = writer.admit(admission(1, None));
    body.push(content(1, 10).into());
    // The response head shows that the purge does not cover the page.
    assert!(matches!(body.complete(completion(1, 12, 100)), Completed::Stored(_)));
}

/// Tests that a refresh belongs to two URLs: the request may be for another URL with the same key, and the response may
/// then be the page of that URL, or confirm the old page.
#[test]
fn refresh_gets_no_followers_after_purge_of_stored_or_requested_address() {
    let purge = |zone: &Zone<TestPage>, address: u64| {
        let covered = PurgeScope::Exact { keys: &[], addresses: &[address], labels: &[] };
        completed_purge(zone.purge(covered, PurgeKind::Hard));
    };
    let claim_at = |zone: &Zone<TestPage>, address: u64| {
        let options = ClaimOptions { address: Some([address; 2]), ..at(30) };
        zone.claim(KeyRef::new(b"/"), plain, |page| page.is_fresh(30), options)
    };
    for (asked_for, purged, keeps) in
        [(1, 3, true), (1, 1, false), (2, 3, false), (2, 2, false), (2, 1, false)]
    {
        for by_claim in [false, true] {
            let zone = zone(1 << 20);
            let stored = put(&zone, b"/", 1, 10, 10);
            stored.set_fresh_until(20);
            let _writer = if by_claim {
                lead(claim_at(&zone, asked_for))
            } else {
                zone.begin_refresh(&stored, 30, 1000, Some([asked_for; 2])).unwrap()
            };
            purge(&zone, purged);
            let claimed = claim_at(&zone, asked_for);
            assert_eq!(matches!(claimed, Claim::Wait(_)), keeps, "{asked_for} {purged} {by_claim}");
        }
    }
}

#[test]
fn keys_and_labels_of_one_purge_count_each_page_once() {
    for purge in [PurgeKind::Hard, PurgeKind::Soft] {
        let zone = zone(1 << 20);
        for id in 0..10 {
            put(&zone, format!("/{id}").as_bytes(), id, 10, 10);
        }
        let (one, two) = (KeyRef::new(b"/1"), KeyRef::new(b"/2"));
        let covered = PurgeScope::Exact { keys: &[one, two], addresses: &[1], labels: &[] };
        assert_eq!(completed_purge(zone.purge(covered, purge)).count, PurgeCount::Exact(3), "1, 2 and 6");
        for id in 0..10 {
            let page = zone.get(KeyRef::new(format!("/{id}").as_bytes()), plain, 50);
            let fresh = page.is_some_and(|page| page.is_fresh(50));
            assert_eq!(fresh, !matches!(id, 1 | 2 | 6), "{id}");
        }
    }
}

#[test]
fn page_that_a_rule_covers_is_gone_for_the_count_of_what_follows() {
    let zone = zone(1 << 20);
    put(&zone, b"/", 1, 10, 10);
    purge_rule(&zone, "group 1", PurgeKind::Hard, 1);
    assert_eq!(purge_labels(&zone, &[1], PurgeKind::Hard), 0);
    let retired = zone.maintain_purges(1 << 20);
    assert_eq!((retired.len(), retired[0].count, zone.live_purges()), (1, 1, 0));
}

#[test]
fn everything_is_purged_at_once_and_counted_later() {
    for purge in [PurgeKind::Hard, PurgeKind::Soft] {
        let zone = zone(1 << 20);
        for id in 0..10 {
            put(&zone, format!("/{id}").as_bytes(), id, 10, 10);
        }
        let purged = completed_purge(zone.purge(PurgeScope::All, purge));
        let number = purged.number;
        let fresh = |key: &[u8]| zone.get(KeyRef::new(key), plain, 50).is_some_and(|page| page.is_fresh(50));
        assert!(!fresh(b"/3"));
        put(&zone, b"/3", 3, 10, 20);
        assert!(fresh(b"/3"));
        assert_eq!(
            zone.maintain_purges(1 << 20),
            [FinishedPurge { name: NAME_OF_ALL.into(), number, count: 10, is_expiry: false }]
        );
    }
}

#[test]
fn what_is_no_rule_is_refused_and_purges_nothing() {
    let zone = zone(1 << 20);
    put(&zone, b"/", 1, 10, 10);
    for rule in [&b""[..], &[0; 3], &[0; MAX_RULE_LEN + 1]] {
        let mut purging = zone.purge(PurgeScope::Rule { name: "", rule }, PurgeKind::Hard);
        let end = std::pin::Pin::new(&mut purging).poll(&mut Context::from_waker(Waker::noop()));
        assert!(matches!(end, Poll::Ready(Err(PurgeError::Rule))));
    }
    assert!(found(&zone, b"/"));
    assert_eq!(zone.live_purges(), 0);
}

#[test]
fn rules_at_once_are_bounded() {
    let zone = zone(1 << 20);
    let is_taken = |number: u16| {
        let rule = number.to_le_bytes();
        let mut purging = zone.purge(PurgeScope::Rule { name: "", rule: &rule }, PurgeKind::Soft);
        match std::pin::Pin::new(&mut purging).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(end) => end.is_ok(),
            Poll::Pending => panic!("a purge that waits"),
        }
    };
    assert_eq!((0..2000).filter(|number| is_taken(*number)).count(), 1024);
    zone.maintain_purges(1);
    zone.maintain_purges(usize::MAX);
    assert_eq!(zone.live_purges(), 0);
}

#[test]
fn fetch_that_stores_nothing_does_not_hold_purge() {
    let zone = zone(1 << 20);
    let _purged = zone.fetch_unshared(KeyRef::new(b"/purged"), 10).admit(admission(1, None));
    let covered = PurgeScope::Exact { keys: &[KeyRef::new(b"/purged")], addresses: &[], labels: &[] };
    completed_purge(zone.purge(covered, PurgeKind::Hard));
    zone.maintain_purges(1);
    assert_eq!(zone.live_purges(), 0);
    let writer = zone.fetch_unshared(KeyRef::new(b"/long"), 10);
    let mut reader = writer.reader();
    let mut long = writer.admit(Admission { length: Some(u64::MAX), ..admission(1, None) });
    long.push(content(1, 10).into());
    purge_labels(&zone, &[1, 2], PurgeKind::Hard);
    zone.maintain_purges(1);
    assert_eq!(zone.live_purges(), 0);
    long.complete(completion(1, 12, 100));
    assert_eq!(drain(&mut reader).unwrap(), content(1, 10));
}

#[test]
fn fetch_that_would_keep_more_purges_than_may_be_stores_nothing() {
    let zone = zone(1 << 20);
    let mut slow = zone.fetch_unshared(KeyRef::new(b"/slow"), 10).admit(admission(1, None));
    let labels: Vec<u64> = (1000..1000 + (1 << 18)).collect();
    for labels in labels.chunks(1 << 14) {
        purge_labels(&zone, labels, PurgeKind::Hard);
    }
    zone.maintain_purges(1);
    assert_eq!(zone.live_purges(), 1 << 18, "the fetch may be of any of them");
    let mut young = zone.fetch_unshared(KeyRef::new(b"/young"), 10).admit(admission(2, None));
    purge_labels(&zone, &[1, 2], PurgeKind::Hard);
    assert_eq!(zone.live_purges(), 2);
    for (id, body) in [(1, &mut slow), (2, &mut young)] {
        body.push(content(id, 10).into());
    }
    assert!(matches!(slow.complete(completion(1, 12, 100)), Completed::Unstored(NotStored::Purged)));
    assert!(matches!(young.complete(completion(2, 12, 100)), Completed::Unstored(NotStored::Purged)));
    zone.maintain_purges(1);
    assert_eq!(zone.live_purges(), 0);
}

#[test]
fn repeated_purge_rule_is_stored_once() {
    let zone = zone(1 << 20);
    for id in 0..50 {
        put(&zone, format!("/{id}").as_bytes(), id, 10, 10);
    }
    for round in 0..5000 {
        purge_rule(&zone, "1", PurgeKind::Hard, 1);
        if round == 1000 {
            assert!(!found(&zone, b"/1"));
        }
    }
    assert!(zone.live_purges() <= 64);
    let reports = zone.maintain_purges(usize::MAX);
    assert_eq!(reports.iter().map(|told| told.count).sum::<usize>(), 10);
}
