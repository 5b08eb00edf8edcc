use super::*;

fn key(n: usize) -> Vec<u8> {
    format!("/page/{n}").into_bytes()
}

#[test]
fn cap_holds_through_a_flood_and_what_is_hit_stays() {
    let zone = zone(1 << 20);
    put(&zone, b"/hot", 0, 4000, 1);
    for n in 1..5000 {
        put(&zone, &key(n), n as u64, 4000, 2);
        assert!(zone.stats().bytes <= 1 << 20);
        assert!(zone.get(KeyRef::new(b"/hot"), plain, 3).is_some(), "evicted after {n}");
    }
    let stats = zone.stats();
    assert!(stats.evictions > 4000 && stats.bytes > (1 << 20) * 9 / 10, "{stats:?}");
    assert_eq!(stats.keys as u64, 5000 - stats.evictions);
}

#[test]
fn popular_pages_outlive_crawlers_better_than_under_lru() {
    const SET: usize = 4000;
    let mut rng = fastrand::Rng::with_seed(1);
    let weights: Vec<f64> = (1..=SET).map(|rank| 1.0 / rank as f64).collect();
    let sum: f64 = weights.iter().sum();
    let mut trace = Vec::new();
    while trace.len() < 60_000 {
        if rng.usize(..2000) == 0 {
            let first = SET + trace.len();
            trace.extend(first..first + SET / 10);
        }
        let mut at = rng.f64() * sum;
        let drawn = weights.iter().position(|weight| {
            at -= weight;
            at < 0.0
        });
        trace.push(drawn.unwrap_or(0));
    }
    let room = SET / 10;
    let mut recent: Vec<usize> = Vec::new();
    let mut lru_hits = 0;
    for page in &trace {
        match recent.iter().rposition(|other| other == page) {
            Some(at) => {
                lru_hits += 1;
                recent.remove(at);
            }
            None if recent.len() == room => _ = recent.remove(0),
            None => {}
        }
        recent.push(*page);
    }
    let probe = zone(1 << 20);
    let before = probe.stats().bytes;
    put(&probe, &key(1000), 1, 4000, 1);
    let zone = zone((probe.stats().bytes - before) * room * 64 / 63);
    let mut hits = 0;
    for page in &trace {
        if zone.get(KeyRef::new(&key(*page)), plain, 2).is_some() {
            hits += 1;
        } else {
            put(&zone, &key(*page), 1, 4000, 1);
        }
    }
    assert!(zone.stats().keys <= room + room / 50, "{:?}", zone.stats());
    assert!(hits * 100 > lru_hits * 112, "{hits} hits where LRU has {lru_hits}, of {}", trace.len());
}

#[test]
fn bodies_on_their_way_count_against_the_cap_and_never_take_all_of_it() {
    let zone = zone(1 << 20);
    put(&zone, b"/hot", 0, 4000, 1);
    let mut bodies = Vec::new();
    for n in 0..100 {
        let mut body = lead(claim(&zone, &key(n), 10)).admit(admission(1, None));
        body.push(vec![0; 20_000].into());
        bodies.push(body);
        assert!(zone.stats().bytes <= 1 << 20);
    }
    let oversized = bodies.iter().filter(|b| b.state() == CollectState::Oversized).count();
    assert_eq!(oversized, 100 - (1 << 19) / 20_064);
    assert!(zone.get(KeyRef::new(b"/hot"), plain, 3).is_some());
}

#[test]
fn object_that_does_not_fit_serves_its_readers_and_is_not_stored() {
    let zone = zone(64 << 10);
    let writer = lead(claim(&zone, b"/", 10));
    let mut reader = writer.reader();
    let mut body = writer.admit(admission(1, None));
    body.push(content(1, 1000).into());
    let finish = Completion { meta: TestPage { id: 1, heap: 1 << 20 }, ..completion(1, 11, 100) };
    assert!(matches!(body.complete(finish), Completed::Unstored(NotStored::OverCap)));
    assert_eq!(drain(&mut reader).unwrap(), content(1, 1000));
    assert_eq!((zone.stats().rejected, zone.stats().flights), (1, 0));
}

#[test]
fn smaller_cap_is_reached_before_resize_returns() {
    let zone = zone(4 << 20);
    for n in 0..500 {
        put(&zone, &key(n), n as u64, 4000, 1);
    }
    zone.resize(ZoneLimits { memory_bytes: 1 << 20, ..zone.limits() });
    let stats = zone.stats();
    assert!(stats.bytes <= 1 << 20 && stats.objects > 200, "{stats:?}");
    zone.resize(ZoneLimits { memory_bytes: 4 << 20, ..zone.limits() });
    put(&zone, b"/more", 1, 1_000_000, 1);
    assert_eq!(zone.stats().objects, stats.objects + 1);
}

#[test]
fn sweep_removes_inactive_pages_in_steps() {
    let zone =
        Zone::new("s", ZoneLimits { inactive_ms: 1000, memory_bytes: 4 << 20, ..ZoneLimits::default() });
    let before = zone.stats().bytes;
    for n in 0..300 {
        put(&zone, &key(n), n as u64, 100, 10);
    }
    assert_eq!(zone.sweep(1009, 10_000), SweepResult { examined: 300, removed: 0, finished: true });
    for n in 0..100 {
        zone.get(KeyRef::new(&key(n)), plain, 500);
    }
    let (mut calls, mut removed) = (0, 0);
    loop {
        let swept = zone.sweep(1010, 50);
        assert!(swept.examined <= 50);
        removed += swept.removed;
        calls += 1;
        if swept.finished {
            break;
        }
    }
    assert!(removed == 200 && calls >= 6, "{removed} in {calls} calls");
    assert_eq!((zone.stats().objects, zone.stats().expired), (100, 200));
    zone.sweep(1500, 10_000);
    assert_eq!((zone.stats().objects, zone.stats().bytes), (0, before));
}

#[test]
fn alternatives_attach_once_to_their_generation_and_are_accounted() {
    let zone = zone(1 << 20);
    let gzip = |n: usize| AlternativeEncoding { bytes: vec![1; n].into(), meta: 7 };
    let before = zone.stats().bytes;
    let object = put(&zone, b"/", 1, 100, 10);
    let bare = zone.stats().bytes;
    assert!(object.alternative(1).is_none());
    zone.attach(&object, 1, gzip(5000)).unwrap();
    assert!(zone.stats().bytes >= bare + 5000);
    let attached = object.alternative(1).unwrap();
    assert_eq!((attached.bytes.len(), attached.meta), (5000, 7));
    assert_eq!(zone.attach(&object, 1, gzip(10)), Err(AttachError::Occupied));
    assert_eq!(zone.attach(&object, 4, gzip(10)), Err(AttachError::NoRoom));
    assert_eq!(zone.attach(&object, 2, gzip(2 << 20)), Err(AttachError::NoRoom));

    let object = put(&zone, b"/", 1, 100, 10);
    assert_eq!(zone.stats().bytes, bare, "the former generation's alternatives left with it");
    zone.attach(&object, 3, gzip(100)).unwrap();
    let former = object;
    let object = put(&zone, b"/", 2, 100, 20);
    assert_eq!(zone.attach(&former, 0, gzip(100)), Err(AttachError::Gone));
    assert!(object.alternative(0).is_none());
    zone.clear();
    assert_eq!(zone.stats().bytes, before);
}

#[test]
fn alternatives_that_are_ready_come_with_the_object() {
    let zone = zone(1 << 20);
    let mut body = lead(claim(&zone, b"/", 10)).admit(admission(1, None));
    body.push(content(1, 100).into());
    let mut finish = completion(1, 11, 100);
    finish.alternatives[2] = Some(AlternativeEncoding { bytes: vec![1; 3000].into(), meta: 9 });
    body.complete(finish);
    let object = zone.get(KeyRef::new(b"/"), plain, 12).unwrap();
    assert_eq!(object.alternative(2).unwrap().meta, 9);
    assert!(object.weight() > 3100);
    assert_eq!(
        zone.attach(&object, 2, AlternativeEncoding { bytes: Bytes::new(), meta: 0 }),
        Err(AttachError::Occupied)
    );
}

#[test]
fn the_labels_of_a_page_are_accounted_with_it() {
    let zone = zone(1 << 20);
    let empty = zone.stats().bytes;
    let plain = put(&zone, b"/plain", 1, 100, 10).weight();
    let tagged = put(&zone, b"/other", tagged(1, 500), 100, 10).weight();
    assert_eq!(tagged - plain, 500 * 32);
    let both = zone.stats().bytes;
    put(&zone, b"/plain", 2, 100, 20);
    assert_eq!(zone.stats().bytes, both);
    zone.remove(KeyRef::new(b"/other"));
    zone.remove(KeyRef::new(b"/plain"));
    assert_eq!(zone.stats().bytes, empty);
}

#[test]
fn pressed_zone_shrinks_by_steps_stores_within_its_cap_and_grows_again() {
    let zone = zone(4 << 20);
    for n in 0..800 {
        put(&zone, &key(n), n as u64, 4000, 1);
    }
    let full = zone.stats();
    assert!(full.bytes > 3 << 20, "{full:?}");
    zone.set_pressure_limit(1 << 20);
    assert_eq!(zone.stats().keys, full.keys, "nothing leaves before a step");
    assert_eq!(zone.shrink(10), 10);
    assert_eq!(zone.stats().keys, full.keys - 10);
    while zone.shrink(100) > 0 {}
    let less = zone.stats();
    assert!((800 << 10..=1 << 20).contains(&less.bytes) && less.limit_bytes == 1 << 20, "{less:?}");
    for n in 800..900 {
        put(&zone, &key(n), n as u64, 4000, 2);
        assert!(zone.stats().bytes <= 1 << 20);
        assert!(zone.get(KeyRef::new(&key(n)), plain, 3).is_some(), "what is new takes the place of others");
    }
    // A reload with the same limit must not enlarge the memory limit.
    zone.resize(zone.limits());
    assert_eq!(zone.stats().limit_bytes, 1 << 20);
    zone.set_pressure_limit(usize::MAX);
    assert_eq!((zone.stats().limit_bytes, zone.shrink(10)), (4 << 20, 0));
}

#[test]
fn store_under_lowered_cap_evicts_some_pages_but_not_whole_excess() {
    let zone = zone(4 << 20);
    for n in 0..800 {
        put(&zone, &key(n), n as u64, 4000, 1);
    }
    let full = zone.stats();
    zone.set_pressure_limit(1 << 20);
    let mut writer = lead(claim(&zone, b"/new", 10)).admit(admission(1, None));
    writer.push(content(1, 4000).into());
    let after = zone.stats();
    assert!((1..=64).contains(&(full.keys - after.keys)), "{full:?} {after:?}");
    assert_eq!(writer.state(), CollectState::Oversized, "it is passed through");
    drop(writer);
    while zone.shrink(100) > 0 {}
    let less = zone.stats();
    assert!(less.bytes <= 1 << 20, "{less:?}");
    put(&zone, b"/new", 1, 4000, 11);
    assert!(zone.get(KeyRef::new(b"/new"), plain, 11).is_some());
    // A small excess is evicted together with the space for the page, which may need more.
    zone.set_pressure_limit(less.bytes - 20_000);
    put(&zone, b"/large", 2, 400_000, 12);
    assert!(zone.get(KeyRef::new(b"/large"), plain, 12).is_some());
    assert!(zone.stats().bytes <= less.bytes - 20_000);
}
