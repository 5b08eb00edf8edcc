//! Tests of bodies too long for memory.

use super::*;

#[test]
fn slow_reader_of_long_body_does_not_retain_many_purges() {
    let folder = Folder::new();
    let fixture = Fixture::open(folder.path());
    fixture.recover();
    let writer = fixture.zone.fetch_unshared(KeyRef::new(b"/long"), 1);
    let _slow = writer.reader();
    let mut long = writer.admit(Admission { length: Some(2 << 20), ..admission(1, None) });
    long.push(content(1, 2 << 20).into());
    fixture.settle();
    assert!(long.is_spilling());
    let forget = || {
        for _ in 0..5 {
            fixture.now.fetch_add(60_000, Relaxed);
            fixture.tend();
        }
        fixture.zone.live_purges()
    };
    fixture.purge(crate::tests::labelled(&[2]), PurgeKind::Hard);
    assert_eq!(forget(), 1, "it may be what was purged");
    let labels: Vec<u64> = (1000..1000 + (1 << 17)).collect();
    for labels in labels.chunks(1 << 14) {
        fixture.purge(crate::tests::labelled(labels), PurgeKind::Hard);
    }
    assert_eq!(forget(), 0);
    long.complete(completion(1, 1, 9_000_000));
    fixture.settle();
    assert_eq!((fixture.id(b"/long"), folder.files().len()), (None, 0));
}

/// Receives a body of `len` bytes in pieces, as from an origin, and stores it. With `read`, a reader receives the body
/// at the same time and checks it. Returns true if the body was written to disk.
fn receive(fixture: &Fixture, key: &[u8], id: u64, len: usize, read: bool) -> bool {
    let writer = fixture.zone.fetch_unshared(KeyRef::new(key), fixture.now());
    let mut reader = read.then(|| writer.reader());
    let mut body = writer.admit(admission(id, None));
    let cx = &mut Context::from_waker(Waker::noop());
    let (mut got, whole) = (Vec::new(), content(id, len));
    for piece in whole.chunks(100_000) {
        while body.poll_capacity(cx).is_pending() {
            fixture.settle();
        }
        body.push(piece.to_vec().into());
        if let Some(reader) = &mut reader {
            while let Poll::Ready(Some(Ok(bytes))) = reader.poll_chunk(cx) {
                got.extend_from_slice(&bytes);
            }
        }
    }
    let spilled = matches!(body.complete(completion(id, fixture.now(), 9_000_000)), Completed::Spilled);
    if let Some(reader) = &mut reader {
        while let Poll::Ready(Some(Ok(bytes))) = reader.poll_chunk(cx) {
            got.extend_from_slice(&bytes);
        }
        assert!(got == whole, "the visitor who waited");
    }
    fixture.settle();
    spilled
}

fn read(
    fixture: &Fixture,
    page: &Object<TestPage>,
    range: std::ops::Range<u64>,
) -> Result<Vec<u8>, ReadError> {
    let cx = &mut Context::from_waker(Waker::noop());
    let stored = page.stored_body().expect("a body on disk");
    let mut opening = std::pin::pin!(stored.open());
    assert!(std::future::Future::poll(opening.as_mut(), cx).is_pending());
    fixture.settle();
    let open = ready(std::future::Future::poll(opening, cx)).ok_or(ReadError("gone".to_owned()))?;
    let mut reader = open.read(range);
    let mut bytes = Vec::new();
    loop {
        match reader.poll_piece(cx) {
            Poll::Pending => fixture.settle(),
            Poll::Ready(Some(piece)) => bytes.extend_from_slice(&piece?),
            Poll::Ready(None) => return Ok(bytes),
        }
    }
}

#[test]
fn a_large_body_goes_to_disk_and_comes_back_in_parts() {
    let folder = Folder::new();
    let fixture = Fixture::open(folder.path());
    let len = 3_500_000;
    assert!(receive(&fixture, b"/film", 7, len, true));
    let before = fixture.zone.stats().bytes;
    for fixture in [fixture, Fixture::open(folder.path())] {
        let page = fixture.get(b"/film", plain).unwrap();
        assert_eq!((page.body().len(), page.body().segments().len()), (len as u64, 0));
        assert!(fixture.zone.stats().bytes <= before, "none of it is in memory");
        let whole = content(7, len);
        for range in [0..len, 5..6, 262_143..262_145, 1_000_000..len, len..len] {
            let part = read(&fixture, &page, range.start as u64..range.end as u64).unwrap();
            assert!(part == whole[range.clone()], "{range:?}");
        }
    }
}

#[test]
fn client_disconnect_does_not_stop_body_being_written_to_disk() {
    let folder = Folder::new();
    let fixture = Fixture::open(folder.path());
    let writer = fixture.zone.fetch_unshared(KeyRef::new(b"/"), 1);
    let mut body = writer.admit(admission(1, None));
    let cx = &mut Context::from_waker(Waker::noop());
    for piece in content(1, 2_000_000).chunks(50_000) {
        assert_eq!(ready(body.poll_capacity(cx)), Capacity::Ready);
        body.push(piece.to_vec().into());
        fixture.settle();
    }
    assert!(body.spilled().is_some());
    assert!(matches!(body.complete(completion(1, 1, 9_000_000)), Completed::Spilled));
    fixture.settle();
    assert_eq!(fixture.id(b"/"), Some(1));
}

#[test]
fn failed_fetch_leaves_no_files() {
    let folder = Folder::new();
    let fixture = Fixture::open(folder.path());
    let mut body = fixture.zone.fetch_unshared(KeyRef::new(b"/"), 1).admit(admission(1, None));
    for piece in content(1, 2_000_000).chunks(50_000) {
        body.push(piece.to_vec().into());
    }
    fixture.settle();
    assert!(fixture.stats().bytes > 1_900_000);
    body.fail(FetchFailure(502));
    fixture.settle();
    assert_eq!((fixture.stats().bytes, folder.files().len()), (0, 0));
    assert!(fs::read_dir(folder.path().join(".tmp")).unwrap().next().is_none());
}

#[test]
fn a_purge_covers_a_body_on_its_way_to_disk() {
    for late in [false, true] {
        let folder = Folder::new();
        let fixture = Fixture::open(folder.path());
        let mut body = fixture.zone.fetch_unshared(KeyRef::new(b"/"), 1).admit(admission(1, None));
        body.push(content(1, 2_000_000).into());
        if !late {
            fixture.zone.remove(KeyRef::new(b"/"));
        }
        assert!(matches!(body.complete(completion(1, 1, 9_000_000)), Completed::Spilled));
        if late {
            fixture.zone.remove(KeyRef::new(b"/"));
        }
        fixture.settle();
        assert_eq!(
            (fixture.id(b"/"), folder.files().len(), fixture.stats().bytes),
            (None, 0, 0),
            "late: {late}"
        );
        assert_eq!(fixture.zone.stats().flights, 0);
    }
}

#[test]
fn damage_in_a_large_body_is_found_where_it_is_read_and_the_page_goes() {
    let folder = Folder::new();
    let fixture = Fixture::open(folder.path());
    receive(&fixture, b"/film", 7, 2_000_000, false);
    let page = fixture.get(b"/film", plain).unwrap();
    let path = &folder.files()[0];
    let mut bytes = fs::read(path).unwrap();
    bytes[1_000_000] ^= 1;
    fs::write(path, bytes).unwrap();
    assert!(read(&fixture, &page, 0..500_000).is_ok());
    assert!(read(&fixture, &page, 0..2_000_000).is_err());
    fixture.pool.maintain();
    assert_eq!((fixture.id(b"/film"), fixture.stats().quarantined), (None, 1));
}

#[test]
fn body_with_missing_or_replaced_file_is_not_opened() {
    let folder = Folder::new();
    let fixture = Fixture::open(folder.path());
    receive(&fixture, b"/film", 7, 2_000_000, false);
    let old = fixture.get(b"/film", plain).unwrap();
    receive(&fixture, b"/film", 8, 2_000_000, false);
    assert_eq!(read(&fixture, &old, 0..10), Err(ReadError("gone".to_owned())));
    let new = fixture.get(b"/film", plain).unwrap();
    assert!(read(&fixture, &new, 0..2_000_000).unwrap() == content(8, 2_000_000));
    fs::remove_file(&folder.files()[0]).unwrap();
    assert_eq!(read(&fixture, &new, 0..10), Err(ReadError("gone".to_owned())));
    assert_eq!(fixture.id(b"/film"), None);
}

#[test]
fn a_body_longer_than_half_of_max_size_drives_nothing_out() {
    let folder = Folder::new();
    let limits = DiskLimits { max_bytes: 3 << 20, ..DiskLimits::default() };
    let fixture = Fixture::open_with(folder.path(), LIMITS, limits);
    for n in 0..20_u64 {
        fixture.put(&n.to_le_bytes(), n, 10);
    }
    receive(&fixture, b"/film", 7, 2_500_000, true);
    assert_eq!(fixture.id(b"/film"), None);
    assert_eq!((fixture.stats().files, fixture.stats().bytes), (20, 20 * 4096));
}

#[test]
fn revalidated_large_page_retains_body_with_new_metadata() {
    let folder = Folder::new();
    let fixture = Fixture::open(folder.path());
    receive(&fixture, b"/film", 7, 2_000_000, false);
    let page = fixture.get(b"/film", plain).unwrap();
    let writer = fixture.zone.begin_refresh(&page, fixture.now(), 1000, None).unwrap();
    assert!(matches!(writer.renew(completion(9, fixture.now(), 9_500_000)), Some(Completed::Stored(_))));
    fixture.settle();
    for fixture in [fixture, Fixture::open(folder.path())] {
        let page = fixture.get(b"/film", plain).unwrap();
        assert_eq!((page.meta().id, page.fresh_until()), (9, 9_500_000));
        assert!(read(&fixture, &page, 0..2_000_000).unwrap() == content(7, 2_000_000));
    }
}

#[test]
fn a_slow_fetch_that_ends_after_a_later_one_leaves_its_file_alone() {
    let folder = Folder::new();
    let fixture = Fixture::open(folder.path());
    let begin = |id| {
        let mut body =
            fixture.zone.fetch_unshared(KeyRef::new(b"/film"), fixture.now()).admit(admission(id, None));
        body.push(content(id, 2_000_000).into());
        body
    };
    let (slow, quick) = (begin(5), begin(6));
    for (body, id) in [(quick, 6), (slow, 5)] {
        assert!(matches!(body.complete(completion(id, fixture.now(), 9_000_000)), Completed::Spilled));
        fixture.settle();
    }
    fixture.recover();
    for fixture in [fixture, Fixture::open(folder.path())] {
        let page = fixture.get(b"/film", plain).unwrap();
        assert_eq!(page.meta().id, 6);
        assert!(read(&fixture, &page, 0..2_000_000).unwrap() == content(6, 2_000_000));
    }
}

#[test]
fn a_slow_fetch_leaves_later_pages_alone_that_vary_by_something_else() {
    let variant = |id| Some(crate::tests::selection(b"s", id));
    for (old, new) in [(None, variant(1)), (variant(1), None)] {
        let folder = Folder::new();
        let fixture = Fixture::open(folder.path());
        let begin = |id, selection| {
            let admitted = admission(id, selection);
            let mut body = fixture.zone.fetch_unshared(KeyRef::new(b"/film"), fixture.now()).admit(admitted);
            body.push(content(id, 2_000_000).into());
            body
        };
        let (slow, quick) = (begin(5, old), begin(6, new));
        for (body, id) in [(quick, 6), (slow, 5)] {
            body.complete(completion(id, fixture.now(), 9_000_000));
            fixture.settle();
        }
        fixture.recover();
        fixture.close();
        let fixture = Fixture::open(folder.path());
        assert_eq!(fixture.get(b"/film", crate::tests::asking(1)).unwrap().meta().id, 6);
    }
}

#[test]
fn a_body_is_not_joined_to_the_head_of_another_fetch() {
    let folder = Folder::new();
    let fixture = Fixture::open(folder.path());
    let elsewhere = Folder::new();
    fs::copy(folder.path().join(".seed"), elsewhere.path().join(".seed")).unwrap();
    let other = Fixture::open(elsewhere.path());
    (0..3).for_each(|id| _ = receive(&other, b"/film", 70 + id, 2_000_000, false));
    let later = elsewhere.files().remove(0);
    let mut named = false;
    fixture.zone.tier().unwrap().disk.inject(move |operation, path| {
        if named && operation == myriad_disk::testing::Operation::Open {
            fs::copy(&later, path).unwrap();
        }
        named |= operation == myriad_disk::testing::Operation::Rename;
        None
    });
    receive(&fixture, b"/film", 7, 2_000_000, false);
    assert!(!fixture.in_memory(b"/film"));
}

#[test]
fn a_sound_file_in_the_place_of_a_damaged_one_stays() {
    let folder = Folder::new();
    let fixture = Fixture::open(folder.path());
    fixture.recover();
    receive(&fixture, b"/film", 7, 2_000_000, false);
    let page = fixture.get(b"/film", plain).unwrap();
    let path = &folder.files()[0];
    let whole = fs::read(path).unwrap();
    for at in [0, 1_000_000] {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        fs::write(path, &bytes).unwrap();
        assert!(read(&fixture, &page, 0..2_000_000).is_err());
        fs::write(path, &whole).unwrap();
        fixture.pool.maintain();
        assert_eq!((fixture.id(b"/film"), fixture.stats().quarantined), (Some(7), 0), "damage at {at}");
    }
    let mut bytes = whole;
    bytes[1_000_000] ^= 1;
    fs::write(path, &bytes).unwrap();
    assert!(read(&fixture, &page, 0..2_000_000).is_err());
    receive(&fixture, b"/film", 8, 2_000_000, false);
    fixture.pool.maintain();
    assert_eq!((fixture.id(b"/film"), fixture.stats().quarantined), (Some(8), 0));
}
