use super::*;

#[test]
fn follower_that_joins_late_reads_from_the_first_byte() {
    let zone = zone(1 << 20);
    let mut body = lead(claim(&zone, b"/", 10)).admit(admission(1, None));
    let bytes = content(1, 90);
    let mut early = waiter(claim(&zone, b"/", 10));
    body.push(Bytes::copy_from_slice(&bytes[..30]));
    body.push(Bytes::copy_from_slice(&bytes[30..60]));
    let mut late = waiter(claim(&zone, b"/", 10));
    let bell = Arc::default();
    let Poll::Ready(FlightHead::Head(page)) = head(&mut late, &bell) else { panic!() };
    assert_eq!(page.id, 1);
    assert_eq!(chunk(&mut late, &bell), Poll::Ready(Some(Ok(bytes[..30].to_vec().into()))));
    body.push(Bytes::copy_from_slice(&bytes[60..]));
    body.complete(completion(1, 11, 100));
    assert_eq!(drain(&mut late).unwrap(), bytes[30..]);
    assert_eq!(drain(&mut early).unwrap(), bytes);
}

#[test]
fn waiting_readers_are_woken_once_per_batch() {
    let zone = zone(1 << 20);
    let mut body = lead(claim(&zone, b"/", 10)).admit(admission(1, None));
    let mut reader = waiter(claim(&zone, b"/", 10));
    let bell = Arc::default();
    assert!(chunk(&mut reader, &bell).is_pending());
    assert!(chunk(&mut reader, &bell).is_pending());
    for _ in 0..5 {
        body.push(Bytes::from_static(b"piece"));
    }
    assert_eq!(bell.rung(), 1);
}

#[test]
fn dropped_leader_wakes_everybody_and_the_next_claim_leads() {
    let zone = zone(1 << 20);
    let before = zone.stats().bytes;
    let writer = lead(claim(&zone, b"/", 10));
    let mut waiting = waiter(claim(&zone, b"/", 10));
    let bell = Arc::default();
    assert!(head(&mut waiting, &bell).is_pending());
    drop(writer);
    assert_eq!(bell.rung(), 1);
    assert!(matches!(head(&mut waiting, &bell), Poll::Ready(FlightHead::Aborted)));

    let mut body = lead(claim(&zone, b"/", 11)).admit(admission(1, None));
    let mut streaming = waiter(claim(&zone, b"/", 11));
    body.push(Bytes::from_static(b"half"));
    assert!(matches!(chunk(&mut streaming, &bell), Poll::Ready(Some(Ok(_)))));
    assert!(chunk(&mut streaming, &bell).is_pending());
    drop(body);
    assert_eq!(bell.rung(), 2);
    assert_eq!(chunk(&mut streaming, &bell), Poll::Ready(Some(Err(Abort::Dropped))));
    lead(claim(&zone, b"/", 12));
    assert_eq!(zone.stats().bytes, before);
}

#[test]
fn failure_reaches_followers_with_its_reason() {
    let zone = zone(1 << 20);
    let writer = lead(claim(&zone, b"/", 10));
    let mut waiting = waiter(claim(&zone, b"/", 10));
    writer.fail(FetchFailure(504));
    let bell = Arc::default();
    assert!(matches!(head(&mut waiting, &bell), Poll::Ready(FlightHead::Failed(FetchFailure(504)))));
    let body = lead(claim(&zone, b"/", 11)).admit(admission(1, None));
    let mut streaming = waiter(claim(&zone, b"/", 11));
    body.fail(FetchFailure(502));
    assert_eq!(chunk(&mut streaming, &bell), Poll::Ready(Some(Err(Abort::Failed(FetchFailure(502))))));
}

#[test]
fn disconnect_of_first_waiter_does_not_block_other_waiters() {
    let zone = zone(1 << 20);
    let writer = lead(claim(&zone, b"/", 10));
    let bell = Arc::default();
    let mut first = waiter(claim(&zone, b"/", 10));
    let mut second = waiter(claim(&zone, b"/", 10));
    assert!(head(&mut first, &bell).is_pending() && head(&mut second, &bell).is_pending());
    drop(first);
    let mut third = waiter(claim(&zone, b"/", 10));
    let mut body = writer.admit(admission(1, None));
    body.push(content(1, 40).into());
    body.complete(completion(1, 11, 100));
    assert_eq!(drain(&mut second).unwrap(), content(1, 40));
    assert_eq!(drain(&mut third).unwrap(), content(1, 40));
}

#[test]
fn leader_goes_on_when_every_reader_has_left() {
    let zone = zone(1 << 20);
    let writer = lead(claim(&zone, b"/", 10));
    drop(writer.reader());
    let mut body = writer.admit(admission(1, None));
    body.push(content(1, 40).into());
    let cx = &mut Context::from_waker(Waker::noop());
    assert_eq!(body.poll_capacity(cx), Poll::Ready(Capacity::Ready));
    assert!(matches!(body.complete(completion(1, 11, 100)), Completed::Stored(_)));
}

#[test]
fn poll_end_waits_for_the_whole_object() {
    let zone = zone(1 << 20);
    let writer = lead(claim(&zone, b"/", 10));
    let mut reader = waiter(claim(&zone, b"/", 10));
    let bell: Arc<Bell> = Arc::default();
    let waker = Waker::from(Arc::clone(&bell));
    let cx = &mut Context::from_waker(&waker);
    assert!(reader.poll_end(cx, plain).is_pending());
    let mut body = writer.admit(admission(1, None));
    assert!(reader.poll_end(cx, plain).is_pending());
    body.push(content(1, 40).into());
    assert!(reader.poll_end(cx, plain).is_pending());
    body.complete(completion(2, 11, 100));
    assert_eq!(bell.rung(), 3);
    let Poll::Ready(FlightEnd::Object(object)) = reader.poll_end(cx, plain) else { panic!() };
    assert_eq!(object.meta().id, 2, "the stored metadata, not the head's");
}

#[test]
fn stored_body_is_compacted_and_large_ones_keep_bounded_segments() {
    let zone = zone(8 << 20);
    let mut body = lead(claim(&zone, b"/", 10)).admit(admission(1, None));
    let bytes = content(1, 700_000);
    for piece in bytes.chunks(999) {
        assert_eq!(body.push(Bytes::copy_from_slice(piece)), CollectState::Ok);
    }
    assert!(body.body().unwrap().same_bytes(&Body::from_segments([Bytes::from(bytes.clone())])));
    let Completed::Stored(object) = body.complete(completion(1, 11, 100)) else { panic!() };
    let lens: Vec<_> = object.body().segments().iter().map(Bytes::len).collect();
    assert_eq!(lens, [262_144, 262_144, 175_712]);
    assert_eq!(object.body().segments().concat(), bytes);
}

#[test]
fn empty_body_is_stored() {
    let zone = zone(1 << 20);
    let mut reader = {
        let writer = lead(claim(&zone, b"/", 10));
        let reader = writer.reader();
        let Completed::Stored(object) = writer.admit(admission(1, None)).complete(completion(1, 11, 100))
        else {
            panic!()
        };
        assert!(object.body().is_empty() && object.body().segments().is_empty());
        reader
    };
    assert_eq!(drain(&mut reader).unwrap(), b"");
}

#[test]
fn refresh_with_the_same_bytes_is_seen_as_unchanged() {
    let zone = zone(1 << 20);
    let old = put(&zone, b"/", 1, 100, 10);
    for (bytes, same) in [(content(1, 100), true), (content(2, 100), false), (content(1, 99), false)] {
        let mut body = zone.begin_refresh(&old, 20, 1000, None).unwrap().admit(admission(1, None));
        for piece in bytes.chunks(7) {
            body.push(Bytes::copy_from_slice(piece));
        }
        assert_eq!(body.unchanged().is_some(), same);
    }
}

fn streaming_zone() -> Zone<TestPage> {
    let limits = ZoneLimits {
        max_object_bytes: 1000,
        stream_window_bytes: 500,
        oversized_pass_ms: 100,
        ..ZoneLimits::default()
    };
    Zone::new("s", limits)
}

#[test]
fn oversized_body_follows_its_slowest_reader_and_is_not_stored() {
    let zone = streaming_zone();
    let before = zone.stats().bytes;
    let writer = lead(claim(&zone, b"/", 10));
    let (mut fast, mut slow) = (writer.reader(), waiter(claim(&zone, b"/", 10)));
    let mut body = writer.admit(admission(1, None));
    let bytes = content(1, 1600);
    assert_eq!(body.push(Bytes::copy_from_slice(&bytes[..900])), CollectState::Ok);
    assert_eq!(body.push(Bytes::copy_from_slice(&bytes[900..1100])), CollectState::Oversized);
    assert!(body.reader().is_none() && body.body().is_none());
    assert!(matches!(claim(&zone, b"/", 20), Claim::Pass), "it takes no newcomers");

    let (room, bell): (Arc<Bell>, Arc<Bell>) = (Arc::default(), Arc::default());
    let waker = Waker::from(Arc::clone(&room));
    let cx = &mut Context::from_waker(&waker);
    assert!(matches!(chunk(&mut fast, &bell), Poll::Ready(Some(Ok(_)))));
    assert!(matches!(chunk(&mut fast, &bell), Poll::Ready(Some(Ok(_)))));
    assert!(body.poll_capacity(cx).is_pending(), "1100 bytes wait for the slow reader");
    assert_eq!(chunk(&mut slow, &bell), Poll::Ready(Some(Ok(Bytes::copy_from_slice(&bytes[..900])))));
    assert_eq!(room.rung(), 1);
    assert_eq!(body.poll_capacity(cx), Poll::Ready(Capacity::Ready));
    body.push(Bytes::copy_from_slice(&bytes[1100..]));
    assert!(body.poll_capacity(cx).is_pending());
    assert!(matches!(body.complete(completion(1, 30, 100)), Completed::Unstored(NotStored::Oversized)));
    assert_eq!(drain(&mut slow).unwrap(), bytes[900..]);
    assert_eq!(drain(&mut fast).unwrap(), bytes[1100..]);
    assert!(matches!(claim(&zone, b"/", 129), Claim::Pass));
    lead(claim(&zone, b"/", 130));
    assert_eq!(zone.stats().bytes, before);
}

#[test]
fn oversized_body_without_readers_is_abandoned() {
    let zone = streaming_zone();
    let writer = lead(claim(&zone, b"/", 10));
    let reader = writer.reader();
    let mut body = writer.admit(Admission { length: Some(1001), ..admission(1, None) });
    assert_eq!(body.state(), CollectState::Oversized, "the announced length is enough");
    body.push(content(1, 600).into());
    let bell: Arc<Bell> = Arc::default();
    let waker = Waker::from(Arc::clone(&bell));
    let cx = &mut Context::from_waker(&waker);
    assert!(body.poll_capacity(cx).is_pending());
    drop(reader);
    assert_eq!(bell.rung(), 1);
    assert_eq!(body.poll_capacity(cx), Poll::Ready(Capacity::Abandoned));
}

#[test]
fn reader_waiting_for_oversized_body_switches_to_streaming() {
    let zone = streaming_zone();
    let writer = lead(claim(&zone, b"/", 10));
    let mut reader = writer.reader();
    let mut body = writer.admit(admission(1, None));
    let cx = &mut Context::from_waker(Waker::noop());
    assert!(reader.poll_end(cx, plain).is_pending());
    body.push(content(1, 1001).into());
    assert!(matches!(reader.poll_end(cx, plain), Poll::Ready(FlightEnd::Oversized)));
}

#[test]
fn writer_is_called_when_its_last_reader_leaves_before_the_head() {
    let zone = zone(1 << 20);
    let mut writer = lead(claim(&zone, b"/", 10));
    let (first, second) = (waiter(claim(&zone, b"/", 10)), writer.reader());
    let bell = Arc::default();
    assert!(unread(&mut writer, &bell).is_pending());
    drop(first);
    assert!(unread(&mut writer, &bell).is_pending(), "one is left");
    drop(second);
    assert_eq!(bell.rung(), 1);
    assert!(unread(&mut writer, &bell).is_ready());
    let mut late = waiter(claim(&zone, b"/", 10));
    assert!(unread(&mut writer, &bell).is_pending(), "somebody has come");
    drop(writer);
    assert!(matches!(head(&mut late, &bell), Poll::Ready(FlightHead::Aborted)));
}

fn unread(writer: &mut crate::FlightWriter<TestPage>, bell: &Arc<Bell>) -> Poll<()> {
    let waker = std::task::Waker::from(Arc::clone(bell));
    writer.poll_unread(&mut std::task::Context::from_waker(&waker))
}
