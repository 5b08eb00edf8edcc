use super::*;

#[test]
fn first_claim_leads_and_the_others_follow_until_the_object_is_stored() {
    let zone = zone(1 << 20);
    let writer = lead(claim(&zone, b"/", 10));
    let _waiting = waiter(claim(&zone, b"/", 11));
    let mut body = writer.admit(admission(1, None));
    let _streaming = waiter(claim(&zone, b"/", 12));
    body.push(content(1, 100).into());
    body.complete(completion(1, 13, 100));
    let Claim::Hit(object) = claim(&zone, b"/", 14) else { panic!("not stored") };
    assert_eq!((object.meta().id, object.stored_at(), object.hits()), (1, 13, 1));
    assert_eq!(object.body().segments()[0], content(1, 100));
    assert_eq!(zone.stats().flights, 0);
}

#[test]
fn other_keys_do_not_wait() {
    let zone = zone(1 << 20);
    let _a = lead(claim(&zone, b"/a", 10));
    let _b = lead(claim(&zone, b"/b", 10));
}

#[test]
fn stale_object_is_fetched_again_and_served_by_get_meanwhile() {
    let zone = zone(1 << 20);
    let old = put(&zone, b"/", 1, 100, 10);
    old.set_fresh_until(20);
    let writer = lead(claim(&zone, b"/", 30));
    assert!(writer.previous().unwrap().is_same(&old));
    assert!(old.is_updating(31));
    assert!(zone.get(KeyRef::new(b"/"), plain, 31).unwrap().is_same(&old));
    assert!(zone.begin_refresh(&old, 31, 1000, None).is_none());
    drop(writer);
    assert!(!old.is_updating(31), "a dropped leader ends its lease");
    lead(claim(&zone, b"/", 32));
}

#[test]
fn one_refresh_at_a_time_and_a_new_one_after_its_lease() {
    let zone = zone(1 << 20);
    let old = put(&zone, b"/", 1, 100, 10);
    let first = zone.begin_refresh(&old, 30, 1000, None).unwrap();
    assert!(old.is_updating(1029));
    assert!(zone.begin_refresh(&old, 1029, 1000, None).is_none());
    let second = zone.begin_refresh(&old, 1030, 1000, None).unwrap();
    drop(first);
    assert!(old.is_updating(1031), "the first refresh must not end the lease of the second");
    let mut body = second.admit(admission(2, None));
    body.push(content(2, 50).into());
    body.complete(completion(2, 1040, 9000));
    assert!(zone.begin_refresh(&old, 3000, 1000, None).is_none(), "the object is no longer stored");
    assert_eq!(zone.get(KeyRef::new(b"/"), plain, 1041).unwrap().meta().id, 2);
}

#[test]
fn revalidation_extends_the_stored_object_and_answers_followers_with_it() {
    let zone = zone(1 << 20);
    let old = put(&zone, b"/", 1, 100, 10);
    old.set_fresh_until(20);
    let writer = lead(claim(&zone, b"/", 30));
    let mut waiter = waiter(claim(&zone, b"/", 30));
    let bell = Arc::default();
    assert!(head(&mut waiter, &bell).is_pending());
    assert!(matches!(writer.renew(completion(2, 31, 500)), Some(Completed::Stored(_))));
    assert_eq!(bell.rung(), 1);
    let Poll::Ready(FlightHead::Object(object)) = head(&mut waiter, &bell) else { panic!() };
    assert_eq!(object.meta().id, 2, "the metadata is the new one");
    assert!(object.is_fresh(499) && !old.is_fresh(499) && !old.is_updating(31));
    assert!(object.body().same_bytes(&old.body()), "the body is the old one");
    assert_eq!(drain(&mut waiter).unwrap(), content(1, 100));
    let Claim::Hit(hit) = claim(&zone, b"/", 499) else { panic!() };
    assert!(hit.is_same(&object));
    let bytes = zone.stats().bytes;
    drop((old, object, hit));
    zone.clear();
    assert!(zone.stats().bytes < bytes && zone.stats().objects == 0, "nothing is accounted twice");
}

#[test]
fn object_confirmed_without_validity_is_sent_to_waiters_and_remains_stale() {
    let zone = zone(1 << 20);
    let old = put(&zone, b"/", 1, 100, 10);
    old.set_fresh_until(20);
    let writer = lead(claim(&zone, b"/", 30));
    let mut waiter = waiter(claim(&zone, b"/", 30));
    assert!(writer.reuse_previous().unwrap().is_same(&old));
    let Poll::Ready(FlightHead::Object(object)) = head(&mut waiter, &Arc::default()) else { panic!() };
    assert!(object.is_same(&old) && !old.is_fresh(30) && !old.is_updating(30));
    lead(claim(&zone, b"/", 31));
}

#[test]
fn refresh_alone_takes_no_followers_and_knows_what_it_replaces() {
    let zone = zone(1 << 20);
    let old = put(&zone, b"/", 1, 100, 10);
    old.set_fresh_until(20);
    let writer = zone.refresh_unshared(&old, 30, 100);
    assert!(writer.previous().unwrap().is_same(&old) && old.is_updating(129) && !old.is_updating(130));
    lead(claim(&zone, b"/", 30)).fail(FetchFailure(502));
    assert!(matches!(writer.renew(completion(2, 31, 500)), Some(Completed::Stored(_))));
    assert!(matches!(claim(&zone, b"/", 499), Claim::Hit(_)));
}

#[test]
fn flight_older_than_the_lock_lets_one_more_lead_and_the_later_fetch_wins() {
    let zone = zone(1 << 20);
    let slow = lead(claim(&zone, b"/", 0));
    let mut patient = waiter(claim(&zone, b"/", 4999));
    let fast = lead(claim(&zone, b"/", 5000));
    let _next = waiter(claim(&zone, b"/", 5001));
    let mut body = fast.admit(admission(2, None));
    body.push(content(2, 10).into());
    assert!(matches!(body.complete(completion(2, 5002, 9000)), Completed::Stored(_)));
    let mut body = slow.admit(admission(1, None));
    body.push(content(1, 10).into());
    assert!(matches!(body.complete(completion(1, 5003, 9000)), Completed::Unstored(NotStored::Superseded)));
    assert_eq!(zone.get(KeyRef::new(b"/"), plain, 5004).unwrap().meta().id, 2);
    assert_eq!(drain(&mut patient).unwrap(), content(1, 10), "its waiters still get its bytes");
}

#[test]
fn uncacheable_answer_frees_followers_and_is_remembered_for_its_time() {
    let zone = zone(1 << 20);
    let writer = lead(claim(&zone, b"/", 10));
    let mut waiter = waiter(claim(&zone, b"/", 10));
    let bell = Arc::default();
    assert!(head(&mut waiter, &bell).is_pending());
    writer.uncacheable(20, 100);
    assert_eq!(bell.rung(), 1);
    assert!(matches!(head(&mut waiter, &bell), Poll::Ready(FlightHead::Uncacheable)));
    assert!(matches!(claim(&zone, b"/", 119), Claim::Pass));
    lead(claim(&zone, b"/", 120)).uncacheable(120, 0);
    lead(claim(&zone, b"/", 121));
}

#[test]
fn withdrawn_body_is_read_by_the_leader_alone_and_not_stored() {
    let zone = zone(1 << 20);
    let writer = lead(claim(&zone, b"/", 10));
    let mut leader = writer.reader();
    let [mut early, mut late] = [(); 2].map(|()| waiter(claim(&zone, b"/", 10)));
    let mut body = writer.admit(admission(1, None));
    body.push(content(1, 10).into());
    let bell = Arc::default();
    assert!(matches!(chunk(&mut early, &bell), Poll::Ready(Some(Ok(_)))));
    assert!(chunk(&mut early, &bell).is_pending());
    body.withdraw(20, 100);
    assert_eq!(bell.rung(), 1);
    assert!(matches!(chunk(&mut early, &bell), Poll::Ready(Some(Err(Abort::Dropped)))));
    assert!(matches!(head(&mut late, &bell), Poll::Ready(FlightHead::Uncacheable)));
    assert!(matches!(claim(&zone, b"/", 21), Claim::Pass));
    assert!(matches!(body.complete(completion(1, 30, 900)), Completed::Unstored(NotStored::Purged)));
    assert_eq!(drain(&mut leader).unwrap(), content(1, 10));
    assert!(matches!(claim(&zone, b"/", 119), Claim::Pass));
    lead(claim(&zone, b"/", 120));
}

#[test]
fn object_stored_while_claims_pass_ends_the_passing() {
    let zone = zone(1 << 20);
    lead(claim(&zone, b"/", 10)).uncacheable(20, 1000);
    put(&zone, b"/", 1, 10, 30).set_fresh_until(35);
    assert!(matches!(claim(&zone, b"/", 31), Claim::Hit(_)));
    lead(claim(&zone, b"/", 40));
}

#[test]
fn fetch_alone_takes_no_waiters() {
    let zone = zone(1 << 20);
    let _alone = zone.fetch_unshared(KeyRef::new(b"/"), 10);
    lead(claim(&zone, b"/", 11));
}

fn claim_variant(zone: &Zone<TestPage>, value: u8) -> Claim<TestPage> {
    zone.claim(KeyRef::new(b"/"), asking(value), |_| true, at(10))
}

fn put_variant(zone: &Zone<TestPage>, selector: &[u8], value: u8, id: u64, now: u64) {
    let admitted = admission(id, Some(selection(selector, value)));
    let mut body = zone.fetch_unshared(KeyRef::new(b"/"), now).admit(admitted);
    body.push(content(id, 20).into());
    assert!(matches!(body.complete(completion(id, now, 1_000_000)), Completed::Stored(_)));
}

fn get_variant(zone: &Zone<TestPage>, value: u8, now: u64) -> Option<u64> {
    zone.get(KeyRef::new(b"/"), asking(value), now).map(|o| o.meta().id)
}

#[test]
fn follower_of_another_variant_is_sent_back_and_then_leads_its_own() {
    let zone = zone(1 << 20);
    let writer = lead(claim_variant(&zone, 1));
    let mut other = waiter(claim_variant(&zone, 2));
    let mut same = waiter(claim_variant(&zone, 1));
    let mut own = writer.reader();
    let mut body = writer.admit(admission(7, Some(selection(b"s", 1))));
    let waker = Waker::noop();
    let cx = &mut Context::from_waker(waker);
    assert!(matches!(other.poll_head(cx, asking(2)), Poll::Ready(FlightHead::Mismatch)));
    assert!(matches!(other.poll_end(cx, asking(2)), Poll::Ready(FlightEnd::Mismatch)));
    assert!(matches!(same.poll_head(cx, asking(1)), Poll::Ready(FlightHead::Head(_))));
    assert!(matches!(own.poll_head(cx, plain), Poll::Ready(FlightHead::Head(_))));
    let _second = lead(claim_variant(&zone, 2));
    waiter(claim_variant(&zone, 2));
    waiter(claim_variant(&zone, 1));
    body.push(content(7, 20).into());
    body.complete(completion(7, 11, 100));
    assert!(matches!(other.poll_end(cx, asking(2)), Poll::Ready(FlightEnd::Mismatch)));
    assert_eq!((get_variant(&zone, 1, 12), get_variant(&zone, 2, 12)), (Some(7), None));
    waiter(claim_variant(&zone, 2));
    lead(claim_variant(&zone, 3));
}

#[test]
fn variants_are_bounded_and_the_coldest_gives_way() {
    let zone = Zone::new("v", ZoneLimits { max_variants: 3, ..ZoneLimits::default() });
    for value in 0..3 {
        put_variant(&zone, b"s", value, u64::from(value), 1000);
    }
    get_variant(&zone, 0, 5000);
    get_variant(&zone, 2, 6000);
    put_variant(&zone, b"s", 9, 9, 7000);
    let stored: Vec<_> = [0, 1, 2, 9].iter().map(|&v| get_variant(&zone, v, 8000)).collect();
    assert_eq!(stored, [Some(0), None, Some(2), Some(9)]);
    assert_eq!((zone.stats().keys, zone.stats().objects), (1, 3));
}

#[test]
fn new_selector_drops_the_variants_of_the_old_one() {
    let zone = zone(1 << 20);
    put_variant(&zone, b"s", 1, 1, 10);
    put_variant(&zone, b"s", 2, 2, 10);
    put_variant(&zone, b"t", 1, 3, 11);
    assert_eq!((get_variant(&zone, 1, 12), get_variant(&zone, 2, 12)), (Some(3), None));
    put(&zone, b"/", 4, 20, 13);
    assert_eq!((get_variant(&zone, 1, 14), get_variant(&zone, 2, 14)), (Some(4), Some(4)));
    assert_eq!(zone.stats().objects, 1);
}

#[test]
fn uses_count_requests_for_a_key() {
    let zone = zone(1 << 20);
    let key = KeyRef::new(b"/");
    assert_eq!(
        [zone.count_use(key, 1), zone.count_use(key, 2), zone.count_use(KeyRef::new(b"/b"), 2)],
        [1, 2, 1]
    );
}

#[test]
fn glance_finds_what_a_look_up_would_and_counts_nothing() {
    let zone = zone(1 << 20);
    let glance =
        |value: u8| zone.peek_variant(KeyRef::new(b"/"), asking(value)).map(|object| object.meta().id);
    assert_eq!(glance(1), None);
    put_variant(&zone, b"s", 1, 1, 10);
    put_variant(&zone, b"s", 2, 2, 10);
    assert_eq!([glance(1), glance(2), glance(3)], [Some(1), Some(2), None]);
    assert_eq!((zone.stats().hits, zone.stats().misses), (0, 0));
    assert_eq!(get_variant(&zone, 1, 12), Some(1));
    let object = zone.peek_variant(KeyRef::new(b"/"), asking(1)).expect("it is there");
    assert_eq!((object.hits(), zone.stats().hits), (1, 1));
    put(&zone, b"/", 4, 20, 13);
    assert_eq!([glance(1), glance(3)], [Some(4); 2]);
}

#[test]
fn glance_finds_nothing_that_is_purged_and_leaves_its_removal_to_a_look_up() {
    let zone = zone(1 << 20);
    put(&zone, b"/7", 7, 10, 10);
    put(&zone, b"/8", 8, 10, 10);
    purge_rule(&zone, "all of 2", PurgeKind::Hard, 2);
    let glance = |key: &[u8]| zone.peek_variant(KeyRef::new(key), plain).is_some();
    assert_eq!([glance(b"/7"), glance(b"/8")], [false, true]);
    assert_eq!(zone.stats().purged, 0);
    assert!(zone.get(KeyRef::new(b"/7"), plain, 20).is_none());
    assert_eq!(zone.stats().purged, 1);
    put(&zone, b"/7", 7, 10, 30);
    assert!(glance(b"/7"), "what is stored anew is not what the purge was for");
}
